// What scripts say, in the reader's language: strings of the server's languages/*.toml.
import { LANGUAGES } from "./languages.js";

const RIGHT_TO_LEFT = ["ar", "fa", "he", "ur"];
let strings = {};
let code = "en";

/** Read the strings of a language, of a regional one such as pt-BR else of its main one, else English. Gives its code. */
export async function speak(wanted = document.documentElement.lang) {
  const lower = wanted.toLowerCase();
  code = LANGUAGES.find((each) => each.toLowerCase() === lower) ?? LANGUAGES.find((each) => each === lower.split("-")[0]) ?? "en";
  strings = await (await fetch(new URL(`language-${code}.json`, import.meta.url))).json();
  return code;
}

/** Which way the language is read. */
export const direction = () => (RIGHT_TO_LEFT.includes(code) ? "rtl" : "ltr");

/** A string with its values: n is the number that its form depends on. */
export function say(name, values = {}) {
  const form = strings[name];
  const text = typeof form === "string" ? form : (form[new Intl.PluralRules(code).select(values.n)] ?? form.other);
  return text.replace(/\{(\w+)\}/g, (_, key) => (key === "n" ? new Intl.NumberFormat(code).format(values.n) : values[key]));
}
