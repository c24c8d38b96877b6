// Words in the reader's language, numbers, scores and times. English stands in the code; /words/ja has the Japanese.

export const MATE = 32000, MATE_BOUND = MATE - 1024;

let table = {};
let japanese = null; // fetched at the beginning: the server may end before the reader asks for it
export let language = "en";

export async function speak(wanted) {
  japanese ??= await (await fetch("words/ja")).json();
  language = wanted;
  table = wanted === "ja" ? japanese : {};
  document.documentElement.lang = wanted;
}

// say("{count} nodes", {count: 4})
export function say(message, fields = {}) {
  return (table[message] || message).replace(/\{(\w+)\}/g, (_, name) => fields[name] ?? "");
}

// The message as it is: one that `say` will be given later, for the test that looks for its Japanese.
export const later = (message) => message;

export function scoreText(score) {
  if (score === null || score === undefined) return "–";
  if (Math.abs(score) < MATE_BOUND) return (score > 0 ? "+" : score < 0 ? "−" : "±") + Math.abs(score);
  const plies = MATE - Math.abs(score);
  return score > 0 ? say("☗ mates in {plies}", { plies }) : say("☖ mates in {plies}", { plies });
}

export function countText(number) {
  if (number === null || number === undefined) return "–";
  if (number < 1000) return String(Math.round(number));
  if (number < 1e6) return (number / 1e3).toFixed(1) + "k";
  if (number < 1e9) return (number / 1e6).toFixed(2) + "M";
  return (number / 1e9).toFixed(2) + "G";
}

export function bytesText(number) {
  if (number < 1000) return number + " B";
  if (number < 1e6) return (number / 1e3).toFixed(1) + " kB";
  return (number / 1e6).toFixed(1) + " MB";
}

export function clockText(ms) {
  const left = Math.max(0, ms);
  if (left < 10000) return "0:" + (Math.floor(left / 100) / 10).toFixed(1).padStart(4, "0");
  const seconds = Math.floor(left / 1000), hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60, rest = String(seconds % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function secondsText(ms) {
  return ms === null || ms === undefined ? "–" : (ms / 1000).toFixed(ms < 9950 ? 1 : 0) + " s";
}

export function ageText(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const age = Math.max(0, seconds);
  if (age < 10) return age.toFixed(1) + " s";
  if (age < 120) return Math.round(age) + " s";
  if (age < 7200) return Math.round(age / 60) + " min";
  return Math.round(age / 3600) + " h";
}

export function timeOfDay(at) {
  return new Date(at * 1000).toTimeString().slice(0, 8);
}

// el("td", {class: "n"}, "text", child …): text is text, never markup.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
