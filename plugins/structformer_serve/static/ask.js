// An answer in words, shown as it comes. What the model writes is text: only numbers of sections become links.
const root = document.body.dataset.root;
const button = document.getElementById("ask");
const { form } = button;
let asking = null;

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function panel(question) {
  document.getElementById("answer")?.remove();
  const place = element("section", "answer");
  place.id = "answer";
  place.setAttribute("aria-label", "Answer");
  const text = element("div", "answer-text");
  text.setAttribute("aria-live", "polite");
  text.setAttribute("aria-busy", "true");
  const note = element("p", "answer-note", "Searching …");
  note.setAttribute("role", "status");
  place.append(element("h2", "", question), text, note);
  document.getElementById("main").before(place);
  return { place, text, note };
}

function link(section, text) {
  const made = element("a", "", text);
  made.href = root + section.read;
  made.title = section.title;
  return made;
}

// Text with the marks [1] of known sections as links.
function show(text, sections, into) {
  text.split(/(\[\d+\])/).forEach((part) => {
    const section = sections.get(Number(/^\[(\d+)\]$/.exec(part)?.[1]));
    into.append(section ? link(section, part) : part);
  });
}

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

async function answer(question, shown, signal) {
  const given = new FormData(form);
  const body = JSON.stringify({ q: question, path: given.getAll("path"), where: given.getAll("where") });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${root}/api/ask`, { method: "POST", headers, body, signal });
  if (!response.ok) {
    shown.note.textContent = (await response.json()).message;
    return;
  }
  const sections = new Map();
  for await (const [name, data] of events(response)) {
    if (name === "sections") {
      data.sections.forEach((each) => sections.set(each.number, each));
      shown.note.textContent = `Asking ${button.dataset.host} …`;
    } else if (name === "text") {
      show(data.text, sections, shown.text);
    } else if (name === "done") {
      const list = element("ol", "");
      data.cited.forEach((number) => {
        const item = element("li", "");
        item.value = number;
        item.append(link(sections.get(number), sections.get(number).title));
        list.append(item);
      });
      shown.note.before(list);
      shown.note.textContent = data.note || `Written by a language model at ${button.dataset.host} from these sections. It may be wrong: read them.`;
    } else {
      shown.note.textContent = data.message;
    }
  }
}

button.addEventListener("click", async () => {
  const question = form.elements.q.value.trim();
  if (!question) {
    form.elements.q.focus();
    return;
  }
  asking?.abort();
  const mine = (asking = new AbortController());
  const shown = panel(question);
  try {
    await answer(question, shown, mine.signal);
  } catch (error) {
    if (!mine.signal.aborted) shown.note.textContent = "The answer broke off. Ask again.";
  }
  shown.text.setAttribute("aria-busy", "false");
});
button.hidden = false;
