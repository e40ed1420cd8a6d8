// A search button and dialog for a site without a server: <script src="search/widget.js"></script>, from the folder that
// was exported. data-target, data-own, data-label and data-language are as on a server.
(() => {
  const script = document.currentScript;
  const folder = new URL(".", script.src).href;
  const { target, label, own, language } = script.dataset;
  let opened = null; // nothing is fetched before somebody types

  async function ask(query, typing) {
    opened ??= import(`${folder}static-search.js`).then(({ open }) => open(new URL(folder)));
    return (await opened).search(query, { k: 6, typing });
  }

  async function begin() {
    const { start } = await import(`${folder}box-button.js`);
    const box = {
      endpoint: folder.replace(/\/$/, ""),
      ask,
      address: (hit) => new URL(hit.url, folder).href,
      submit: (query) => window.open(`${folder}index.html?q=${encodeURIComponent(query)}`, "_self"),
    };
    start({ files: folder, target, label, own, language, box });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
