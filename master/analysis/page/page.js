"use strict";
// The page: reads the data in this file, and shows a game, or the summary of several.

const data = JSON.parse(document.getElementById("data").textContent);
const app = document.getElementById("app");
// A message in the page's language, with the fields in it.
const say = (message, fields = {}) => (data.words[message] || message).replace(/\{(\w+)\}/g, (_, name) => fields[name]);
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

// On a narrow page a row is a block of cells, each under its column's name (page.css); kind: the table's class.
function table(kind, heads, rows) {
  // A head that ends in "<" is of a column of text.
  const isText = heads.map((head) => head.endsWith("<")), names = heads.map((head) => head.replace(/<$/, ""));
  const cls = (index) => (isText[index] ? "text" : null);
  return el("div", {}, el("table", { class: kind },
    el("thead", {}, el("tr", {}, heads.map((head, index) => el("th", { class: cls(index) }, names[index])))),
    el("tbody", {}, rows.map(({ cells, go, cursor }) => el("tr", go ? { class: "go", onclick: go, "data-ply": cursor } : {},
      cells.map((cell, index) => el("td", { class: cls(index), "data-name": names[index] }, cell)))))));
}

function ring(value) {
  const length = 2 * Math.PI * 38;
  const root = svg("svg", { class: "ring", width: 92, height: 92, viewBox: "0 0 92 92", role: "img", "aria-label": say("accuracy") });
  root.append(
    svg("circle", { cx: 46, cy: 46, r: 38, fill: "none", stroke: "var(--line)", "stroke-width": 7 }),
    svg("circle", { cx: 46, cy: 46, r: 38, fill: "none", stroke: "var(--accent)", "stroke-width": 7, "stroke-linecap": "round", transform: "rotate(-90 46 46)", "stroke-dasharray": `${((value ?? 0) / 100) * length} ${length}` }),
    svg("text", { x: 46, y: 49, "text-anchor": "middle" }, value === null ? "-" : value.toFixed(1)),
    svg("text", { x: 46, y: 63, "text-anchor": "middle", class: "unit" }, say("accuracy")));
  return root;
}

function playerCard(player, mark) {
  const facts = [[say("moves judged"), player.moves], [say("loss a move"), `${percent(player.loss, 1)} (${player.loss_cp.toFixed(0)} cp)`], [say("first choice"), percent(player.best)], [say("bad moves"), percent(player.bad)]];
  if (player.games > 1) facts.unshift([say("games"), player.games]);
  if (player.missed_mates) facts.push([say("missed mates"), player.missed_mates]);
  return el("div", { class: "player" },
    el("div", { class: "name" }, mark + player.name),
    ring(player.accuracy),
    el("dl", {}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
    el("div", { class: "counts" }, data.levels.map((level) => el("span", { class: level.word }, `${player.counts[level.word] || 0} ${level.name}`))),
    player.level ? el("div", { class: "strength" }, player.level) : null);
}

function playersCard(marks) {
  const note = data.noStrength || say("Strength: the level of our own searcher whose moves lose the same, by score band; intervals are 95 % of the moves' chance only. The judge is that same searcher, at small effort: mistakes beyond its sight are not counted. docs/how-to/analysis.md explains the limits of the estimate.");
  return el("section", { class: "card" }, el("h2", {}, say("Players")),
    el("div", { class: "players" }, data.players.map((player, index) => playerCard(player, marks[index] || ""))), el("p", { class: "note" }, note));
}

function bandsCard(marks) {
  const shown = data.players.slice(0, 4);
  const most = Math.max(1, ...shown.flatMap((player) => player.bands.map((band) => band.loss_cp)));
  const heads = [say("score before the move") + "<", "<", ...shown.flatMap((player, index) => [(marks[index] || "") + player.name, say("loss, cp") + "<", say("bad moves")])];
  const rows = data.players[0].bands.map((band, index) => ({
    cells: [say(band.band), band.range, ...shown.flatMap((player) => {
      const own = player.bands[index];
      if (!own.moves) return ["-", "", ""];
      return [String(own.moves), el("span", {}, own.loss_cp.toFixed(0).padStart(4, "\u2007"), el("i", { class: "bar", style: `width:${(60 * own.loss_cp) / most}px` })), percent(own.bad)];
    })],
  }));
  return el("section", { class: "card" }, el("h2", {}, say("By score band")), table("bands", heads, rows),
    el("p", { class: "note" }, say("Scores are the mover's. Columns: moves, mean loss in centipawns, share of bad moves (10 % of win probability or more).")));
}

function footer() {
  return el("p", { class: "note" }, say("{engine}; {effort}. Scores are black's (☗). Win probability: 1 / (1 + exp(-cp / 600)). Classes by win probability lost: {levels}.", { ...data, levels: data.levels.map((level) => `${level.name} ${percent(level.loss)}`).join(", ") }) + " " + say("Sure, likely, unsure: how well a second, longer search agrees."));
}

function showGame() {
  const first = data.first, last = first + data.positions.length - 1;
  const moveAt = (ply) => data.moves[ply - 1 - first];
  const sideAt = (ply) => (data.positions[ply - first].sfen.split(" ")[1] === "b" ? 0 : 1);
  let ply = first, unit = "win", flipped = false, variation = null; // variation: {from: ply, pv, count}

  const board = el("div", { class: "board" });
  const where = el("span", { class: "where" });
  const step = (by) => () => go(ply + by);
  const controls = el("div", { class: "controls" },
    el("button", { onclick: () => go(first), title: say("first position (Home)") }, "|◀"), el("button", { onclick: step(-1), title: say("back (←)") }, "◀"),
    el("button", { onclick: step(1), title: say("on (→)") }, "▶"), el("button", { onclick: () => go(last), title: say("last position (End)") }, "▶|"), where);
  const copied = el("span", { class: "copied", role: "status" });
  const key = (name, words, act) => el("button", { "data-key": name, onclick: act }, el("kbd", {}, name.toUpperCase()), words);
  // The keys and their effects, also as buttons for a phone.
  const acts = {
    n: [say("next mistake"), () => mistake(1)], p: [say("previous mistake"), () => mistake(-1)],
    f: [say("flip the board"), () => { flipped = !flipped; drawBoardBox(); }], c: [say("copy SFEN"), copy],
  };
  const keys = el("div", { class: "keys" }, Object.entries(acts).map(([name, [words, act]]) => key(name, words, act)), copied);
  const judgement = el("section", { class: "card judgement", "aria-live": "polite" });
  const rows = new Map();
  const list = el("div", { class: "moves" }, [null, ...data.moves].map((move, index) => {
    const at = first + index, position = data.positions[index];
    const row = el("button", { class: "row", "data-ply": at, onclick: () => go(at) },
      el("span", { class: "n" }, String(at)), el("span", {}, move ? move.text : say("start")),
      el("span", { class: `tag ${move ? move.quality : ""}` }, move ? (move.missed ? say("missed mate") : move.allowed ? say("allows a mate") : move.name) : ""),
      el("span", { class: "score" }, position.score.replace(" mates in ", " #").replace(" has mated", " #").replace("の勝ち (詰み)", "勝")));
    rows.set(at, row);
    return row;
  }));
  const scoreBox = el("div", { class: "chart" }), timeBox = el("div", { class: "chart" });
  const units = [["win", say("win %")], ["cp", say("centipawns")]].map(([name, text]) => el("button", { "aria-pressed": name === unit, onclick: () => { unit = name; units.forEach((button, index) => button.setAttribute("aria-pressed", ["win", "cp"][index] === unit)); drawCharts(); } }, text));

  function line(name, from, position, pv, words) {
    if (!words || !words.length) return null;
    return el("div", { class: "pv" }, el("span", { class: "name" }, name), words.map((word, index) => {
      const shown = variation && variation.from === from && variation.pv === pv && variation.count === index + 1;
      return el("button", { "aria-current": shown ? "true" : null, onclick: () => { variation = { from, pv, count: index + 1 }; draw(); } }, word);
    }));
  }

  let sfen = ""; // of the board that is shown
  function copy() {
    const told = () => { copied.textContent = say("copied: {sfen}", { sfen }); };
    const byHand = () => { // an old browser, or one that has no clipboard for a file
      const box = document.body.appendChild(el("textarea", {}, sfen));
      box.select();
      document.execCommand("copy");
      box.remove();
      told();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(sfen).then(told, byHand);
    else byHand();
  }

  // To the next bad move of the game in that direction; at the last one it stays.
  function mistake(direction) {
    const places = bad.map((move) => move.n).filter((n) => (n - ply) * direction > 0);
    if (places.length) go(direction > 0 ? places[0] : places[places.length - 1]);
  }

  function drawBoardBox() {
    let last_, side, best = null, second = null, shown;
    if (variation) {
      shown = parseSfen(data.positions[variation.from - first].sfen);
      side = sideAt(variation.from);
      for (const usi of variation.pv.slice(0, variation.count)) { playUsi(shown, usi, side); side = 1 - side; last_ = usi; }
      best = variation.pv[variation.count] || null;
    } else {
      const position = data.positions[ply - first];
      shown = parseSfen(position.sfen);
      side = sideAt(ply);
      last_ = ply > first ? moveAt(ply).usi : null;
      best = position.best;
      second = position.lines?.[0]?.pv[0];
    }
    board.replaceChildren(drawBoard(shown, last_, best, side, null, flipped, second));
    sfen = sfenOf(shown, side, Number(data.positions[(variation ? variation.from : ply) - first].sfen.split(" ")[3]) + (variation ? variation.count : 0));
    copied.textContent = "";
    where.textContent = variation ? say("variation, move {count} from {from}", variation) : `${ply} / ${last}`;
  }

  function drawJudgement() {
    const position = data.positions[ply - first], move = ply > first ? moveAt(ply) : null;
    const parts = [el("h3", {}, move ? `${move.n}. ${move.text}` : say("Start"))];
    parts.push(el("div", { class: "eval" }, position.score, el("small", {}, position.win === null ? say("not searched") : `☗ ${percent(position.win)}${position.depth ? say(", depth {depth}", position) : ""}`)));
    if (position.win !== null) parts.push(el("div", { class: "meter", title: say("win probability of black") }, el("i", { style: `width:${100 * position.win}%` })));
    if (move) {
      const words = move.quality === "forced" ? say("the only legal move") : move.quality === "best" ? say("the analysis' first choice") : !move.better ? say("as good as the first choice") : `${move.name ? move.name + ": " : ""}${say("loses {share} ({cp} cp)", { share: percent(move.loss), cp: move.lossCp })}${sure(move)}`;
      parts.push(el("div", { class: move.quality }, words + (move.missed ? say("; missed a mate") : "") + (move.allowed ? say("; allows a mate") : "")));
      const facts = [move.ms === null ? "" : seconds(move.ms), move.own === null ? "" : say("the player's score {score} cp", { score: (move.own > 0 ? "+" : "") + move.own })].filter(Boolean).join(", ");
      if (facts) parts.push(el("div", { class: "facts" }, facts));
      const before = data.positions[ply - 1 - first];
      if (before.words && move.better) parts.push(line(say("Better was, {score}", { score: move.better }), ply - 1, before, before.pv, before.words));
    }
    parts.push(line(say("From here"), ply, position, position.pv, position.words));
    for (const other of position.lines || []) parts.push(line(say("Or, {score} (☗ {win})", { score: other.score, win: percent(other.win) }), ply, position, other.pv, other.words));
    judgement.replaceChildren(...parts.filter(Boolean));
  }

  function drawCharts() {
    const width = Math.max(320, scoreBox.clientWidth || 900);
    for (const [box, made] of [[scoreBox, scoreChart(data, unit, width, ply)], [timeBox, timeChart(data, width, ply)]]) {
      if (!made) { box.closest("section").querySelectorAll(".times").forEach((part) => part.remove()); continue; }
      const tip = el("div", { class: "tip", hidden: "" });
      listen(made.root, made.scale, (at) => {
        tip.hidden = at === null;
        if (at === null) return;
        const move = at > first ? moveAt(at) : null;
        tip.textContent = `${at}. ${move ? move.text : say("start")}  ${data.positions[at - first].score}${move && isBad(move) ? `  ${move.name} -${percent(move.loss)}` : ""}${move && move.ms !== null ? `  ${seconds(move.ms)}` : ""}`;
        const x = made.scale.x(at);
        tip.style.left = x > width / 2 ? "" : `${x + 10}px`;
        tip.style.right = x > width / 2 ? `${width - x + 10}px` : "";
      }, go);
      box.replaceChildren(made.root, tip);
    }
  }

  function draw() {
    drawBoardBox();
    drawJudgement();
  }

  function go(to) {
    ply = Math.max(first, Math.min(last, to));
    variation = null;
    for (const [at, row] of rows) row.setAttribute("aria-current", at === ply);
    const row = rows.get(ply);
    list.scrollTop = row.offsetTop - list.clientHeight / 2;
    try { history.replaceState(null, "", `#${ply}`); } catch (error) { /* a file opened from a strict viewer has no history */ }
    draw();
    drawCharts();
  }

  const sure = (move) => (move.sure ? ` (${move.sure})` : "");
  const bad = data.moves.filter((move) => (isBad(move) && move.quality !== "inaccuracy") || move.missed || move.allowed);
  const show = (move) => () => { go(move.n); window.scrollTo({ top: 0, behavior: "smooth" }); };
  // The position before the move: the move in red, the better one in blue.
  const turningCard = (move) => {
    const before = data.positions[move.n - 1 - first], after = data.positions[move.n - first];
    return el("button", { class: "turn", onclick: show(move), "data-ply": move.n },
      drawBoard(parseSfen(before.sfen), null, before.best, move.turn, move.usi),
      el("span", {}, `${move.n}. ${move.text} `, el("span", { class: move.quality }, `${move.name} -${percent(move.loss)}`), sure(move)),
      el("span", { class: "facts" }, say("{before} → {after}; better {move}", { before: before.score, after: after.score, move: (before.words || ["-"])[0] })));
  };
  const badRow = (move) => {
    const before = data.positions[move.n - 1 - first], after = data.positions[move.n - first];
    return { go: show(move), cursor: move.n, cells: [String(move.n), move.text, el("span", { class: move.quality }, [move.name, move.missed ? say("missed mate") : "", move.allowed ? say("allows a mate") : ""].filter(Boolean).join(", ")), `-${percent(move.loss)}`, move.sure, `${before.score} → ${after.score}`, (before.words || []).slice(0, 4).join(" ")] };
  };
  const badHeads = ["", say("move") + "<", "<", say("loss"), say("verdict") + "<", say("score"), say("better move") + "<"];
  const turning = data.moves.filter((move) => data.turning.includes(move.n));
  const legend = el("div", { class: "legend" }, data.levels.map((level) => el("span", {}, el("i", { style: `background:var(--${level.word})` }), level.name)));
  app.replaceChildren(...[
    el("header", {}, el("h1", {}, `☗ ${data.names[0]}`, el("span", { class: "versus" }, "–"), `☖ ${data.names[1]}`),
      el("span", { class: "result" }, data.result), el("span", { class: "facts" }, [data.event, data.date, data.source].filter(Boolean).join(" · ")), data.notice ? el("span", { class: "notice" }, data.notice) : ""),
    el("div", { class: "top" }, el("section", { class: "card" }, board, controls, keys), judgement, el("section", { class: "card list", style: "padding:0" }, list)),
    el("section", { class: "card" }, el("div", { class: "charthead" }, el("h2", {}, say("Score")), units, legend), scoreBox, el("h2", { class: "times", style: "margin-top:10px" }, say("Time")), el("div", { class: "times" }, timeBox)),
    playersCard(["☗ ", "☖ "]),
    turning.length ? el("section", { class: "card" }, el("h2", {}, say("Turning points")), el("div", { class: "turning" }, turning.map(turningCard))) : null,
    el("section", { class: "card" }, el("h2", {}, say("Bad moves")), bad.length ? table("bad", badHeads, bad.map(badRow)) : say("None: no move lost 10 % of win probability.")),
    bandsCard(["☗ ", "☖ "]), footer()].filter(Boolean));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: first, End: last }[event.key], act = acts[event.key.toLowerCase()];
    if (by === undefined && !act) return;
    event.preventDefault();
    if (act) act[1]();
    else go(by);
  });
  new ResizeObserver(drawCharts).observe(scoreBox);
  window.addEventListener("hashchange", () => go(Number(location.hash.slice(1)) || first));
  go(location.hash ? Number(location.hash.slice(1)) || first : (turning[0] || { n: last }).n);
}

function showSummary() {
  const heads = [say("game") + "<", say("result") + "<", say("moves"), "☗", "☖", say("score") + "<"];
  const rows = data.games.map((game) => ({ cells: [el("a", { href: game.page }, `☗ ${game.names[0]} – ☖ ${game.names[1]}`), game.result, String(game.moves), ...game.accuracy.map((value) => (value === null ? "-" : `${value.toFixed(1)}%`)), sparkline(game.wins)] }));
  app.replaceChildren(
    el("header", {}, el("h1", {}, say("{count} games", { count: data.games.length })), el("span", { class: "facts" }, say("{count} players", { count: data.players.length }))),
    playersCard([]), el("section", { class: "card" }, el("h2", {}, say("Games")), table("games", heads, rows)), bandsCard([]), footer());
}

(data.kind === "game" ? showGame : showSummary)();
