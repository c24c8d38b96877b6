// The page: hears the server's events, and shows the game, its searches and the fleet.

import { drawBoard, glyph } from "./board.js";
import { graph, winRate } from "./chart.js";
import { explorer } from "./explore.js";
import { answerPanel, figuresPanel, logPanel, nodesPanel, searchPanel, treePanel, votesPanel } from "./panels.js";
import { play, positionOf, sfenOf } from "./rules.js";
import { ageText, clockText, el, language, later, say, scoreText, secondsText, speak } from "./words.js";

const $ = (id) => document.getElementById(id);
const stored = (key, value) => {
  try { return value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value); } catch { return null; }
};

const state = {
  head: {}, key: null, game: null, thoughts: [null, null], fleet: null, log: [], games: [], status: "",
  offset: 0, link: "joining", ply: null, details: new Map(), fetched: new Set(), flipped: stored("flipped") === "1", unit: stored("unit") || "win", grave: stored("grave") === "1",
};
const now = () => Date.now() / 1000 + state.offset;

// --- the positions of the game: kept, and made once ---

let line = { start: "", boards: [], moves: [] };
function boards() {
  const game = state.game;
  const known = line.start === game.start && line.moves.every((move, index) => game.moves[index]?.usi === move) && line.language === language;
  if (!known) line = { start: game.start, language, moves: [], boards: [{ position: positionOf(game.start), last: null, text: "" }] };
  for (const move of game.moves.slice(line.moves.length)) {
    const before = line.boards.at(-1), made = play(before.position, [move.usi], before.last);
    line.boards.push({ position: made.position, last: made.last, text: made.texts[0] || move.csa });
    line.moves.push(move.usi);
  }
  return line.boards;
}

const first = () => state.game.first;
const last = () => state.game.first + state.game.moves.length;
const shown = () => (state.ply === null ? last() : Math.min(state.ply, last())); // another game may be shorter
const live = () => state.ply === null;

const side = explorer(() => state.game && paint(), () => Boolean(state.head.asks) && state.link === "up");

function go(ply) {
  if (!state.game) return;
  side.leave();
  const wanted = Math.max(first(), Math.min(last(), ply));
  state.ply = wanted === last() ? null : wanted;
  load(wanted);
  paint();
}

// Seen moves stay in memory: the reader can step through them long after the server's end.
function keep(thought, colour) {
  const name = `${state.key}/${thought.ply}`, both = state.details.get(name) || [null, null];
  both[colour] = thought;
  state.details.set(name, both);
}

// The search at a ply is fetched when the reader looks at it; the running search comes with the events.
async function load(ply) {
  const key = state.key, name = `${key}/${ply}`;
  const kept = state.details.get(name);
  if (ply >= last() || state.link !== "up" || state.fetched.has(name)) return;
  if (kept?.some((thought) => thought?.done)) return;
  state.fetched.add(name);
  const answer = await fetch(`games/${encodeURIComponent(key)}/${ply}`).catch(() => null);
  if (!answer?.ok) return state.fetched.delete(name);
  (await answer.json()).thoughts.forEach((thought, colour) => thought && state.key === key && keep(thought, colour));
  if (state.key === key && shown() === ply) paint();
}

// The panels beside the position after `ply` moves: the search of the side to move.
function thoughtAt(ply) {
  const turn = boards()[ply - first()].position.color === "black" ? 0 : 1;
  const ours = state.game.searches;
  const found = (colour) => {
    const running = state.thoughts[colour];
    if (running && running.ply === ply) return running;
    return state.details.get(`${state.key}/${ply}`)?.[colour] || null;
  };
  if (live()) {
    const thought = state.thoughts[ours]; // while the opponent thinks, our last search stays
    if (thought && thought.ply >= first() && thought.ply <= last()) return { thought, colour: ours, ply: thought.ply };
  }
  return { thought: found(turn), colour: turn, ply };
}

// --- painting ---

function paint() {
  $("language").textContent = language === "ja" ? "EN" : "日本語";
  paintState();
  paintFleet();
  if (!state.game) return;
  document.body.classList.toggle("record", state.game.mine === null); // nobody searches here
  const all = boards(), branch = side.branch, ply = branch ? branch.from : shown(), at = all[ply - first()];
  paintTitle();
  const about = thoughtAt(ply), before = all[about.ply - first()], board = side.here(at), answer = side.answer(board.position);
  const move = branch ? branch.moves[branch.count - 1] : state.game.moves[ply - first() - 1]?.usi;
  const found = answer?.lines?.length ? answer : !branch && about.ply === ply ? about.thought : null;
  const next = branch?.moves[branch.count] || found?.pv?.[0] || found?.lines?.[0]?.pv[0];
  const arrows = found === answer && answer ? answer.lines.slice(0, 2).map((item) => item.pv[0]) : [next, found?.lines?.[1]?.pv[0]];
  $("board").replaceChildren(drawBoard(board.position, { last: move || "", arrows, flipped: state.flipped, label: say("board"), picked: side.picked(board.position) }));
  const where = branch ? say("variation, move {count} from {from}", branch) : ply === first() ? say("start") : `${ply} ${at.text}`;
  if ($("where").textContent !== where) $("copied").textContent = "";
  $("where").textContent = where;
  $("side").replaceChildren(...side.bar(ply, board.position));
  const played = branch ? branch.moves.slice(0, branch.count) : [];
  $("answer").replaceChildren(...(answer === undefined ? [] : answerPanel(answer, board, (moves, count) => side.show(ply, [...played, ...moves], played.length + count), null)));
  $("search").replaceChildren(...searchPanel(about.thought, about.colour, before, live(), (moves, count) => side.show(about.ply, moves, count), branch));
  $("votes").replaceChildren(...votesPanel(about.thought, before));
  fill($("tree"), ...treePanel(about.thought, about.colour, before, now()));
  paintMoves(all, ply);
  paintGraph(ply);
  paintClocks();
  for (const button of document.querySelectorAll("[data-go]")) {
    const back = button.dataset.go === "first" || button.dataset.go === "back";
    button.disabled = back ? ply === first() : ply === last();
  }
}

function paintTitle() {
  const { names, id } = state.game;
  $("title").replaceChildren(el("span", { class: "player" }, `☗ ${names[0] || "–"}`), el("span", { class: "versus" }, "–"), el("span", { class: "player" }, `☖ ${names[1] || "–"}`));
  $("title").title = id;
  document.title = `${names[0]} – ${names[1]} · Gougi`;
}

const REASONS = { RESIGN: later("by resignation"), TIME_UP: later("on time"), ILLEGAL_MOVE: later("by an illegal move"), OUTE_SENNICHITE: later("by perpetual check"), JISHOGI: later("by declaration"), SENNICHITE: later("by repetition"), MAX_MOVES: later("by the move limit"), IMPASSE: later("by impasse"), DRAW: "", MATE: later("by mate"), CHUDAN: later("(stopped)"), UNKNOWN: "" };

function resultText(result) {
  const how = say(REASONS[result.reason] ?? result.reason);
  if (result.winner === 0 || result.winner === 1) return say("{side} wins {how}, {plies} moves", { side: "☗☖"[result.winner], how, plies: result.plies });
  return result.conclusion === "DRAW" || result.reason === "MAX_MOVES" ? say("drawn {how}, {plies} moves", { how, plies: result.plies }) : say("no result {how}", { how });
}

function paintState() {
  const pill = $("state"), result = state.game?.result;
  pill.className = "pill " + (state.link === "lost" ? "bad" : state.link === "over" ? "quiet" : result ? "quiet" : state.game ? "live" : "");
  pill.textContent = state.link === "lost" ? say("connection lost") : result ? resultText(result) : state.link === "over" ? say("ended") : state.game ? say("live") : state.status === "waiting" ? say("waits for a game") : say("starting");
}

function paintMoves(all, ply) {
  const box = $("moves"), game = state.game;
  const rows = [el("button", { type: "button", class: "row", "data-ply": first(), "aria-current": ply === first() ? "true" : null }, el("span", { class: "n" }, ""), el("span", {}, say("start")))];
  game.moves.forEach((move, index) => {
    const at = first() + index + 1;
    rows.push(el("button", { type: "button", class: "row", "data-ply": at, "aria-current": at === ply ? "true" : null, title: move.book ? say("from the book {book}", { book: move.book }) : null },
      el("span", { class: "n" }, String(move.ply)), el("span", { class: "move" }, all[index + 1].text), el("span", { class: "n score" }, scoreText(move.score)), el("span", { class: "n time" }, secondsText(move.ms))));
  });
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 30;
  const place = box.scrollTop;
  box.replaceChildren(...rows);
  box.scrollTop = live() && atEnd ? box.scrollHeight : place;
  if (!live() || atEnd) {
    const current = box.querySelector('[aria-current="true"]');
    if (current && (current.offsetTop < box.scrollTop || current.offsetTop + current.offsetHeight > box.scrollTop + box.clientHeight)) box.scrollTop = current.offsetTop - box.clientHeight / 2;
  }
}

function paintGraph(ply) {
  const game = state.game, mine = game.mine ?? 0;
  const points = game.moves.map((move) => ({ ply: move.ply, ms: move.ms, colour: move.colour, own: game.analysed || move.colour === mine ? move.score : null, other: game.analysed || move.colour === mine ? null : move.score }));
  const running = state.thoughts[game.searches] || null, isOwn = game.searches === mine;
  if (!game.result && running && !running.done && running.score !== undefined && running.score !== null) points.push({ ply: running.ply + 1, own: isOwn ? running.score : null, other: isOwn ? null : running.score, ms: null, colour: game.searches });
  const width = Math.max(280, document.querySelector(".wide").clientWidth - 34);
  const names = game.analysed ? [say("analysis")] : [`${"☗☖"[mine]} ${game.names[mine]}`, `${"☖☗"[mine]} ${game.names[mine ^ 1]}`];
  const legend = el("span", { class: "legend" }, el("span", {}, el("i", { class: "ours" }), names[0]), points.some((point) => point.other !== null && point.other !== undefined) ? el("span", {}, el("i", { class: "theirs" }), names[1]) : null);
  const unit = el("button", { type: "button", id: "unit", onclick: () => { state.unit = state.unit === "win" ? "cp" : "win"; stored("unit", state.unit); paint(); } }, state.unit === "win" ? say("centipawns") : say("win rate"));
  $("graph").replaceChildren(el("h2", {}, say("evaluation"), legend, unit), graph(points, { first: first(), last: last(), ply, unit: state.unit, width, mine, go }));
}

function paintClocks() {
  const game = state.game;
  if (!game) return;
  const ply = shown(), all = boards(), position = all[ply - first()].position;
  const past = game.moves[ply - first() - 1];
  const running = live() && !game.result && state.link !== "over";
  for (const side of [0, 1]) {
    let left = live() ? game.clocks.left_ms[side] : past ? past.left_ms[side] : game.times[side]?.total_ms ?? null;
    const turn = running ? game.clocks.turn === side : (position.color === "black" ? 0 : 1) === side;
    const time = game.times[side] || {};
    if (running && turn && left !== null) {
      const spent = (now() - game.clocks.at) * 1000;
      left = Math.min(left, left + (time.increment_ms || 0) - spent); // the increment is used up first
    }
    const extra = time.byoyomi_ms ? say("{seconds} s byoyomi", { seconds: time.byoyomi_ms / 1000 }) : time.increment_ms ? `+${time.increment_ms / 1000} s` : "";
    const unlimited = left === null || (!time.total_ms && !time.byoyomi_ms && !time.increment_ms);
    const plate = $((side === 0) !== state.flipped ? "plate-bottom" : "plate-top");
    plate.className = "plate" + (turn && !game.result ? " turn" : "");
    plate.replaceChildren(el("span", { class: "mark" }, "☗☖"[side]), el("span", { class: "who" }, game.names[side] || "–", side === game.mine ? el("small", {}, "Gougi") : null),
      el("span", { class: "clock" + (running && turn && left < 10000 && !unlimited ? " short" : ""), "data-clock": side }, unlimited ? "–" : clockText(left)), el("span", { class: "extra" }, extra));
  }
}

// New content for a panel; the reader's scroll position stays.
function fill(panel, ...content) {
  const places = [...panel.querySelectorAll(".scroll, ul")].map((box) => [box.scrollLeft, box.scrollTop]);
  panel.replaceChildren(...content);
  panel.querySelectorAll(".scroll, ul").forEach((box, index) => {
    const [left, top] = places[index] || [0, 0];
    if (left || top) Object.assign(box, { scrollLeft: left, scrollTop: top });
  });
}

function paintFleet() {
  const fleet = state.fleet;
  if (fleet) {
    fill($("nodes"), ...nodesPanel(fleet, now()));
    $("figures").replaceChildren(...figuresPanel(fleet, state.game));
  }
  const filter = el("button", { type: "button", id: "grave", "aria-pressed": String(state.grave), onclick: () => { state.grave = !state.grave; stored("grave", state.grave ? "1" : "0"); paintFleet(); } }, say("only what matters"));
  fill($("log"), el("h2", {}, say("events"), filter), logPanel(state.log, state.grave));
  const choice = $("games");
  choice.hidden = state.games.length < 2;
  choice.replaceChildren(el("option", { value: "latest" }, say("the running game")), ...state.games.slice().reverse().map((game) => el("option", { value: game.key }, `${game.id || game.key}  ${game.names.join(" – ")}`)));
  choice.value = wanted;
}

// Parts that only time changes, some times a second.
function tick() {
  if (state.link === "over" && state.game?.result) return;
  paintClocks();
  for (const cell of document.querySelectorAll("[data-since]")) cell.textContent = ageText(now() - Number(cell.dataset.since));
  if (!state.game) return;
  const { thought } = thoughtAt(shown());
  if (!thought || thought.done) return;
  for (const cell of document.querySelectorAll("[data-age]")) {
    const heard = thought.heard?.[cell.dataset.age];
    if (heard !== undefined && !cell.parentElement.classList.contains("lost")) cell.textContent = ageText(now() - heard);
  }
}

// --- the server ---

let wanted = new URLSearchParams(location.search).get("game") || "latest";
let events = null;

function join() {
  events?.close();
  events = new EventSource(`events?game=${encodeURIComponent(wanted)}`);
  events.addEventListener("state", (event) => {
    const message = JSON.parse(event.data), sections = message.sections;
    state.link = "up";
    state.offset = message.now - Date.now() / 1000;
    if (message.head) Object.assign(state, { head: message.head, details: new Map(), fetched: new Set() }); // a new stream may be another program's
    if (message.key !== state.key) side.leave();
    if (message.key !== state.key) Object.assign(state, { key: message.key, game: null, thoughts: [null, null], ply: null, details: new Map(), fetched: new Set() });
    if (sections.game) state.game = sections.game;
    if (sections.ended) for (const [colour, thought] of sections.ended.ended) keep(thought, colour);
    if (sections.thoughts) {
      state.thoughts = sections.thoughts.thoughts;
      state.thoughts.forEach((thought, colour) => thought && keep(thought, colour));
    }
    if (sections.fleet) state.fleet = sections.fleet;
    if (sections.log) state.log = sections.log.entries;
    if (sections.games) Object.assign(state, { games: sections.games.games, status: sections.games.status });
    if (!live()) load(shown());
    soon();
  });
  events.addEventListener("bye", () => { events.close(); state.link = "over"; paint(); });
  events.onerror = () => { state.link = "lost"; paintState(); };
}

// A pressed element must stay until it is released: else there is no click. A lost release holds up a second.
let pressedUntil = 0;
addEventListener("pointerdown", () => { pressedUntil = performance.now() + 1000; });
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => { pressedUntil = 0; });

let due = 0;
function soon() {
  if (!due) due = requestAnimationFrame(() => { due = 0; performance.now() < pressedUntil ? soon() : paint(); });
}

// --- the reader's actions ---

const THEMES = ["auto", "light", "dark"];
function theme(name) {
  stored("theme", name);
  document.documentElement.dataset.theme = name;
  $("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[name];
  $("theme").title = say("light or dark");
}
const nextTheme = () => theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]);

async function talk(name) {
  stored("language", name);
  await speak(name);
  label();
  paint();
}

function label() {
  const names = { first: ["«", later("to the start")], back: ["‹", later("back")], on: ["›", later("on")], last: ["»", later("to the running game")] };
  for (const button of document.querySelectorAll("[data-go]")) {
    const [sign, words] = names[button.dataset.go];
    button.textContent = sign;
    button.title = button.ariaLabel = say(words);
  }
  for (const [id, key, words] of [["previous", "P", later("previous mistake")], ["next", "N", later("next mistake")], ["flip", "F", later("turn the board")], ["copy", "C", later("copy SFEN")]]) {
    $(id).replaceChildren(el("kbd", {}, key), say(words));
  }
  $("help").title = $("help").ariaLabel = say("keys");
  const keys = [["← →", later("back, on")], ["Home End", later("start, running game")], ["↑ ↓", later("ten moves")], ["A", later("ask the engine")], ["Esc", later("back to the game")], ["F", later("turn the board")], ["N P", later("next, previous mistake")], ["C", later("copy SFEN")], ["U", later("win rate or centipawns")], ["T", later("light or dark")], ["L", later("English or Japanese")], ["?", later("this list")]];
  $("keys").replaceChildren(el("h2", {}, say("keys")), el("dl", {}, ...keys.flatMap(([key, words]) => [el("dt", {}, key), el("dd", {}, say(words))])), el("button", { type: "button", onclick: () => $("keys").close() }, say("close")));
}

const flip = () => { state.flipped = !state.flipped; stored("flipped", state.flipped ? "1" : "0"); paint(); };

// The plies after moves that cost their player a tenth of the win rate or more, by the scores of the record or the game.
// An analysis gives the score after a move; a player gives the one before the move, and the reply has that after it.
function mistakes() {
  const { moves, analysed } = state.game;
  return moves.filter((move, index) => {
    const before = winRate((analysed ? moves[index - 1] : move)?.score), after = winRate((analysed ? move : moves[index + 1])?.score);
    return before !== null && after !== null && (move.colour ? after - before : before - after) >= 0.1;
  }).map((move) => first() + moves.indexOf(move) + 1);
}

function mistake(direction) {
  if (!state.game) return;
  const places = mistakes().filter((ply) => (ply - shown()) * direction > 0);
  if (places.length) go(direction > 0 ? places[0] : places.at(-1));
}

function copy() {
  if (!state.game) return;
  const branch = side.branch, ply = branch ? branch.from : shown();
  const sfen = sfenOf(side.here(boards()[ply - first()]).position, ply + (branch ? branch.count : 0) + 1);
  const told = () => { $("copied").textContent = say("copied: {sfen}", { sfen }); };
  const byHand = () => { // a page that comes over plain HTTP from another machine has no clipboard
    const box = document.body.appendChild(el("textarea", {}, sfen));
    box.select();
    document.execCommand("copy");
    box.remove();
    told();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(sfen).then(told, byHand);
  else byHand();
}

const steps = { first: () => go(first()), back: () => side.step(-1) || go(shown() - 1), on: () => side.step(1) || go(shown() + 1), last: () => go(last()) };
for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => state.game && steps[button.dataset.go]());
$("moves").addEventListener("click", (event) => {
  const row = event.target.closest("[data-ply]");
  if (row) go(Number(row.dataset.ply));
});
$("board").addEventListener("click", (event) => {
  const cell = event.target.closest("[data-cell]")?.dataset.cell;
  if (!cell || !state.game) return;
  const ply = side.branch ? side.branch.from : shown();
  side.click(cell, ply, side.here(boards()[ply - first()]).position);
});
$("flip").addEventListener("click", flip);
$("previous").addEventListener("click", () => mistake(-1));
$("next").addEventListener("click", () => mistake(1));
$("copy").addEventListener("click", copy);
$("theme").addEventListener("click", nextTheme);
$("language").addEventListener("click", () => talk(language === "ja" ? "en" : "ja"));
$("help").addEventListener("click", () => $("keys").showModal());
$("games").addEventListener("change", (event) => { wanted = event.target.value; join(); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, dialog")) return;
  const keys = {
    ArrowLeft: steps.back, ArrowRight: steps.on, Home: steps.first, End: steps.last, ArrowUp: () => go(shown() - 10), ArrowDown: () => go(shown() + 10),
    Escape: () => { if (side.leave()) paint(); }, a: () => $("ask")?.click(), f: flip, n: () => mistake(1), p: () => mistake(-1), c: copy, u: () => $("unit")?.click(), t: nextTheme, l: () => $("language").click(), "?": () => $("keys").showModal(),
  };
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || (!state.game && event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  act();
});
addEventListener("resize", soon);

$("mark").append(glyph("合", 21, 11, 11), glyph("議", 21, 33, 11));
theme(stored("theme") || "auto");
talk(stored("language") || (navigator.language.startsWith("ja") ? "ja" : "en")).then(join);
setInterval(tick, 200);
