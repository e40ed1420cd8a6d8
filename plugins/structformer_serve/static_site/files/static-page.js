import { atHighlight, attach, made, marked, onShortcut, remember } from "./search-box.js";
import { say, speak } from "./language.js";
import { open } from "./static-search.js";

await speak();
const input = document.getElementById("q");
const results = document.getElementById("results");
const summary = document.getElementById("summary");
const start = summary.textContent; // what to do, as long as nothing is asked
for (const failure of ["error", "unhandledrejection"]) {
  addEventListener(failure, () => (summary.textContent = say("unreadable")));
}
const search = await open(new URL(".", import.meta.url));
window.structformer = search;

let shown = ""; // what the page's address asks for

async function show(query) {
  shown = query;
  document.title = query ? `${query} · ${search.title}` : search.title;
  if (!query) {
    summary.textContent = start;
    results.replaceChildren();
    return;
  }
  remember(query);
  const answer = await search.search(query);
  if (shown !== query) return; // another search was begun meanwhile
  const n = answer.hits.length;
  const parts = [n && answer.confident ? `${say("documents", { n })} · \u2068${answer.milliseconds} ms\u2069` : say(n ? "no_match" : "nothing", { query })];
  if (answer.searched) parts.push(say("for", { query: answer.searched }));
  if (answer.missing.length) parts.push(say("no_page", { words: answer.missing.join(", ") }));
  if (answer.absent_phrases.length) parts.push(say("no_phrase", { phrases: answer.absent_phrases.map((phrase) => `“${phrase}”`).join(", ") }));
  if (n && !answer.confident) parts.reverse(); // what ends with "closest pages:" stands before them
  summary.textContent = parts.join(" · ");
  results.replaceChildren(
    ...answer.hits.map((hit) => {
      const inner = hit.path.length > 1;
      const item = made("article", {}, made("h2", {}, link({ url: atHighlight(hit.url, hit) }, inner ? hit.path.at(-1) : hit.document_title)));
      if (inner) item.append(made("p", { class: "path" }, [hit.document_title, ...hit.path.slice(1, -1)].join(" › ")));
      item.append(made("p", { class: "snippet" }, marked(hit.snippet, hit.highlights)));
      if (hit.sections.length) {
        const others = hit.sections.map((each) => made("li", {}, link(each, each.path.slice(1).join(" › ") || each.title)));
        item.append(made("ul", { class: "also", "aria-label": say("more_in", { title: hit.document_title }) }, ...others));
      }
      return made("li", { dir: "auto" }, item);
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
  input.value = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  show(input.value);
}
addEventListener("popstate", restore);
restore();
