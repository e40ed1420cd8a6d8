// A search button and dialog for any site: <script src="https://SERVER/widget.js" data-target="#search"></script>
//
// data-target: a selector of where the button goes, else the end of the page; data-label: its text; data-links: "site"
// (default) leads to the documents' own addresses where they are known, "reader" to the server's page; data-token: sent
// with every request; data-path: only documents whose ids match, for example guide/*.
(() => {
  const script = document.currentScript;
  const endpoint = new URL(".", script.src).href.replace(/\/$/, "");
  const { target, label = "Search", links = "site", token = "", path = "" } = script.dataset;

  async function start() {
    const { attach, onShortcut } = await import(`${endpoint}/static/search-box.js`);
    const host = document.createElement("span");
    (document.querySelector(target || "body") ?? document.body).append(host);
    const shadow = host.attachShadow({ mode: "open" });
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = `${endpoint}/static/box.css`;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sf-open";
    button.setAttribute("aria-haspopup", "dialog");
    const apple = /mac|iphone|ipad/i.test(navigator.platform);
    const key = document.createElement("kbd");
    key.textContent = apple ? "⌘ K" : "Ctrl K";
    key.setAttribute("aria-hidden", "true");
    button.append(label, key);
    const dialog = document.createElement("dialog");
    dialog.className = "sf-dialog";
    dialog.setAttribute("aria-label", label);
    const field = document.createElement("div");
    field.className = "sf-field";
    const input = document.createElement("input");
    input.type = "search";
    input.autocomplete = "off";
    input.placeholder = label;
    input.setAttribute("aria-label", label);
    field.append(input);
    dialog.append(field);
    shadow.append(style, button, dialog);
    attach(input, {
      endpoint,
      token,
      filters: path ? [["path", path]] : [],
      address: (hit) => (links === "site" && hit.url) || endpoint + hit.read,
      submit: (query) => window.open(`${endpoint}/?q=${encodeURIComponent(query)}`, "_self"),
    });
    const open = () => {
      if (!dialog.open) dialog.showModal();
      input.focus();
      input.select();
    };
    button.addEventListener("click", open);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    onShortcut(open);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
