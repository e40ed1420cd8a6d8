// Buttons that copy: only scripts make them, so that one is there only where it works.
const copied = document.createElement("p");
copied.className = "hidden";
copied.setAttribute("role", "status");
document.body.append(copied);

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // without TLS, or not allowed: by a selection
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A button that copies what text() gives, and says so. */
export function copyButton(text, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", async () => {
    const done = await copy(text());
    button.focus();
    button.textContent = done ? "Copied" : "Failed";
    copied.textContent = done ? "Copied" : "It could not be copied";
    setTimeout(() => {
      button.textContent = "Copy";
      copied.textContent = "";
    }, 2000);
  });
  return button;
}

/** Give a block of code its button. */
export function copyable(code) {
  let tools = code.querySelector(".tools");
  if (!tools) {
    tools = document.createElement("div");
    tools.className = "tools";
    code.append(tools);
  }
  const language = tools.querySelector("span")?.textContent;
  tools.append(copyButton(() => code.querySelector("pre").textContent, language ? `Copy ${language} code` : "Copy code"));
}
