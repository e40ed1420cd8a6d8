import { attach, made, marked, onShortcut, remember } from "./search-box.js";
import { open } from "./static-search.js";

const input = document.getElementById("q");
const results = document.getElementById("results");
const summary = document.getElementById("summary");
const search = await open(new URL(".", import.meta.url));
window.structformer = search;
document.title = search.title;
document.querySelector(".title span").textContent = search.title;
input.setAttribute("aria-label", `Search ${search.title}`);

async function show(query) {
  remember(query);
  const answer = await search.search(query);
  const missing = answer.missing.length ? ` No page has: ${answer.missing.join(", ")}.` : "";
  const meant = answer.searched && ` for ${answer.searched}`;
  if (!answer.hits.length) summary.textContent = `Nothing found for ${query}.${missing}`;
  else if (answer.confident) summary.textContent = `${answer.hits.length} documents${meant}, ${answer.milliseconds} ms.${missing}`;
  else summary.textContent = `Nothing surely fits ${query}.${missing} The nearest${meant}:`;
  results.replaceChildren(
    ...answer.hits.map((hit) => {
      const item = made("li", {}, made("h2", {}, link(hit, hit.document_title)));
      if (hit.path.length > 1) item.append(made("p", { class: "path" }, link(hit, hit.path.slice(1).join(" › "))));
      item.append(made("p", { class: "snippet" }, marked(hit.snippet, hit.highlights)));
      if (hit.sections.length) {
        const others = hit.sections.map((each) => made("li", {}, link(each, each.path.slice(1).join(" › ") || each.title)));
        item.append(made("ul", { class: "also", "aria-label": `More in ${hit.document_title}` }, ...others));
      }
      return item;
    }),
  );
}

function link(hit, text) {
  return made("a", { href: hit.url }, text);
}

function go(query) {
  history.pushState(null, "", `?q=${encodeURIComponent(query)}`);
  box.close();
  show(query);
}

const box = attach(input, { endpoint: "", address: (hit) => hit.url, submit: go, ask: (query, typing) => search.search(query, { k: 6, typing }) });
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (input.value.trim()) go(input.value.trim());
});
onShortcut(() => {
  input.focus();
  input.select();
});

function restore() {
  const query = new URLSearchParams(location.search).get("q");
  input.value = query || "";
  if (query) show(query);
}
addEventListener("popstate", restore);
restore();
