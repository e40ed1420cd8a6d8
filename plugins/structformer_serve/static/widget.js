// A search button and dialog for any site: <script src="https://SERVER/widget.js"></script>
//
// The button goes where the theme has its search (box-places.js), else it floats. data-target: a selector of another
// place; data-own: replace the theme's own search or keep it; data-label: the button's text;
// data-language: the box's own, as de, else that of the page; data-links: "site" (default)
// leads to the documents' own addresses where they are known, "reader" to the server's page; data-token: sent with every
// request; data-path: only documents whose ids match, for example guide/*.
(() => {
  const script = document.currentScript;
  const endpoint = new URL(".", script.src).href.replace(/\/$/, "");
  const files = `${endpoint}/static/`;
  const { target, label, own, language, links = "site", token = "", path = "" } = script.dataset;

  async function begin() {
    const { start } = await import(`${files}box-button.js`);
    const box = {
      endpoint,
      token,
      filters: path ? [["path", path]] : [],
      address: (hit) => (links === "site" && hit.url) || endpoint + hit.read,
      submit: (query) => window.open(`${endpoint}/?q=${encodeURIComponent(query)}`, "_self"),
    };
    start({ files, target, label, own, language, box });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
