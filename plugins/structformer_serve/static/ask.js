// An answer in words, shown as it comes, with what one can do with it: copy it, say whether it helped, follow it up.
import { rendered } from "./answer-markdown.js";
import { copyable, copyButton } from "./copying.js";
import { say, speak } from "./language.js";
import { made } from "./search-box.js";

await speak();
const { root, feedback, index } = document.body.dataset;
const button = document.getElementById("ask");
const { form } = button;
let asking = null;

/** Where an answer is shown: a question that follows another up below its answer. */
function panel(question, isFollowing) {
  const before = isFollowing ? Array.from(document.querySelectorAll(".answer")).at(-1) : null;
  if (!before) document.querySelectorAll(".answer").forEach((each) => each.remove());
  const text = made("div", { class: "text answer-text", "aria-live": "polite", "aria-busy": "true" });
  const note = made("p", { class: "answer-note", role: "status" }, say("searching"));
  const place = made("section", { class: "answer", "aria-label": say("answer") }, made("h2", {}, question), text, note);
  const results = document.querySelector(".found .top");
  if (before) before.after(place);
  else if (results) results.after(place);
  else document.getElementById("main").before(place);
  return { place, text, note };
}

const link = (section, text) => made("a", { href: section.url || root + section.read, title: section.title }, text);

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (held + value).split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\n");
      yield [name.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
}

function failed({ place, note }, message) {
  place.classList.add("failed");
  note.textContent = message;
}

/** The search is not sure, so no model was asked: whoever asks may want it all the same. */
function refused(asked, shown) {
  failed(shown, say("unasked"));
  if (asked.anyway) return;
  const again = made("button", { type: "button" }, say("anyway"));
  again.addEventListener("click", () => {
    shown.place.remove();
    ask({ ...asked, anyway: true });
  });
  shown.note.append(" ", again);
}

async function answer(asked, shown, signal) {
  const given = new FormData(form);
  const body = JSON.stringify({ ...asked, path: given.getAll("path"), where: given.getAll("where") });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${root}/api/ask`, { method: "POST", headers, body, signal });
  if (!response.ok) return failed(shown, (await response.json()).message);
  const sections = new Map();
  const cite = (number) => (sections.has(number) ? link(sections.get(number), `[${number}]`) : null);
  let text = "";
  let frame = 0;
  const show = () => shown.text.replaceChildren(...rendered(text, cite));
  for await (const [name, data] of events(response)) {
    if (name === "sections") {
      data.sections.forEach((each) => sections.set(each.number, each));
      shown.note.textContent = say("asking", button.dataset);
    } else if (name === "text") {
      text += data.text;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(show);
    } else {
      cancelAnimationFrame(frame);
      show();
      if (name === "refused") return refused(asked, shown);
      if (name !== "done") return failed(shown, data.message);
      return finish(asked, text, data, sections, shown);
    }
  }
  failed(shown, say("broken"));
}

function finish(asked, text, { cited, note, further = [] }, sections, shown) {
  const list = made("ol", {});
  for (const number of cited) list.append(made("li", { value: number }, link(sections.get(number), sections.get(number).title)));
  shown.text.querySelectorAll(".code").forEach(copyable);
  shown.note.before(list);
  shown.note.textContent = note || say("written", button.dataset);
  const sources = cited.map((number) => `[${number}] ${sections.get(number).title}: ${new URL(sections.get(number).url || root + sections.get(number).read, location.href)}`);
  const tools = made("div", { class: "answer-tools" });
  tools.append(copyButton(() => [text, ...sources].join("\n"), say("copy_answer")));
  if (feedback) tools.append(...thumbs(asked.q, cited.map((number) => sections.get(number).document)));
  tools.append(followUp(asked.q));
  if (further.length) shown.place.append(suggestions(further));
  shown.place.append(tools);
}

function thumbs(query, shown) {
  const buttons = [["answer_good", "good"], ["answer_bad", "bad"]].map(([event, name]) => {
    const thumb = made("button", { type: "button" }, say(name));
    thumb.addEventListener("click", () => {
      const body = JSON.stringify({ event, query, index, shown });
      navigator.sendBeacon(`${root}/api/feedback`, new Blob([body], { type: "application/json" }));
      buttons[0].replaceWith(made("span", { role: "status" }, say("thanks")));
      buttons[1].remove();
    });
    return thumb;
  });
  return buttons;
}

/** Other headings of the answer's pages. */
function suggestions(further) {
  const list = made("div", { class: "answer-tools", role: "group", "aria-label": say("further") }, made("span", {}, `${say("further")}:`));
  for (const q of further) {
    const suggestion = made("button", { type: "button", dir: "auto" }, q);
    suggestion.addEventListener("click", () => ask({ q }));
    list.append(suggestion);
  }
  return list;
}

function followUp(before) {
  const field = made("input", { "aria-label": say("follow"), placeholder: say("follow"), maxlength: 512 });
  const again = made("form", { class: "follow-up" }, field, made("button", {}, say("ask")));
  again.addEventListener("submit", (event) => {
    event.preventDefault();
    const q = field.value.trim();
    if (q) ask({ q, before });
  });
  return again;
}

async function ask(asked) {
  asking?.abort();
  const mine = (asking = new AbortController());
  const shown = panel(asked.q, asked.before);
  try {
    await answer(asked, shown, mine.signal);
  } catch {
    if (!mine.signal.aborted) failed(shown, say("broken"));
  }
  shown.text.setAttribute("aria-busy", "false");
}

button.addEventListener("click", () => {
  const q = form.elements.q.value.trim();
  if (q) ask({ q });
  else form.elements.q.focus();
});
button.hidden = false;
