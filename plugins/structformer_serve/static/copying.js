// Buttons that copy: only scripts make them, so that one is there only where it works.
import { say } from "./language.js";
import { made } from "./search-box.js";

const copied = made("p", { class: "hidden", role: "status" });
document.body.append(copied);

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // without TLS, or not allowed: by a selection
    const area = made("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A button that copies what content() gives, and says so. */
export function copyButton(content, label, text = say("copy")) {
  const button = made("button", { type: "button", "aria-label": label }, text);
  button.addEventListener("click", async () => {
    const done = await copy(await content());
    button.focus();
    button.textContent = say(done ? "copied" : "failed");
    copied.textContent = button.textContent;
    setTimeout(() => {
      button.textContent = text;
      copied.textContent = "";
    }, 2000);
  });
  return button;
}

/** Give a block of code its button. */
export function copyable(code) {
  let tools = code.querySelector(".tools");
  if (!tools) {
    tools = made("div", { class: "tools" });
    code.append(tools);
  }
  const language = tools.querySelector("span")?.textContent;
  tools.append(copyButton(() => code.querySelector("pre").textContent, [say("copy_code"), language].filter(Boolean).join(": ")));
}
