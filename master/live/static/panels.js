// The panels beside the board. Each gets its data and returns the elements.

import { spark, winRate } from "./chart.js";
import { play, usiText } from "./rules.js";
import { ageText, bytesText, countText, el, later, say, scoreText, secondsText, timeOfDay } from "./words.js";

function bar(share, name = "") {
  const inner = el("i", {});
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: "bar " + name }, inner);
}

function figure(name, value, hint = "") {
  return el("div", { class: "figure", title: hint || null }, el("dt", {}, name), el("dd", { "data-figure": name }, value));
}

// A table of rows of cells; on a narrow page a row is a block, each cell under its column's name (page.css).
function table(names, numbers, rows) {
  for (const row of rows) [...row.cells].forEach((cell, index) => { if (cell.colSpan === 1) cell.dataset.name = names[index]; });
  const header = el("tr", {}, ...names.map((name, index) => el("th", { class: numbers(index) ? "n" : "" }, name)));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, header), el("tbody", {}, ...rows)));
}

const side = (colour) => (colour ? "☖" : "☗");

export function sum(thought) {
  return (thought.fleet || []).reduce((total, view) => total + (view.alive ? view.nps : 0), 0) || (thought.ms ? (thought.nodes * 1000) / thought.ms : 0);
}

const SOURCES = {
  split: later("by the split tree"), vote: later("by vote"), forced: later("the only move"), fallback: later("by the master's own engine"),
  none: later("by material alone"),
};

// A variation to click through. pick(moves, count) shows the position after so many of its moves.
function variation(name, moves, board, pick, branch) {
  const isShown = (count) => branch?.count === count && moves.slice(0, count).join() === branch.moves.slice(0, count).join();
  return el("p", { class: name }, ...play(board.position, moves, board.last).texts.map((text, index) =>
    el("button", { type: "button", "aria-current": isShown(index + 1) ? "true" : null, onclick: () => pick(moves, index + 1) }, text)));
}

// Several best moves, each with its score, win rate and variation.
function linesList(lines, board, pick, branch) {
  return el("ol", { class: "lines" }, ...lines.map((item) => el("li", {},
    el("b", {}, scoreText(item.score)), el("span", { class: "soft win" }, `☗ ${Math.round(winRate(item.score) * 100)}%`), variation("pv", item.pv.slice(0, 12), board, pick, branch))));
}

// The engine's answer to a reader's question about a position. answer: null while it searches; {error} or {lines}.
export function answerPanel(answer, board, pick, branch) {
  const head = el("h2", {}, say("the engine"), answer?.lines?.length ? el("span", { class: "aside" }, say("depth {depth}, {nodes} nodes", { depth: answer.lines[0].depth, nodes: countText(answer.nodes) })) : null);
  if (!answer) return [head, el("p", { class: "empty" }, say("it searches"))];
  if (answer.error !== undefined) return [head, el("p", { class: "empty" }, answer.error || say("no answer"))];
  if (!answer.lines.length) return [head, el("p", { class: "empty" }, answer.move === "win" ? say("the side to move may declare a win") : say("there is no legal move"))];
  return [head, linesList(answer.lines, board, pick, branch)];
}

// board: {position, last} before the move that is thought about.
export function searchPanel(thought, colour, board, fresh, pick, branch) {
  const head = el("h2", {}, `${side(colour)} ${fresh && !thought?.done ? say("thinks") : say("thought")}`);
  if (!thought || thought.depth === undefined) {
    return [head, el("p", { class: "empty" }, thought ? say("the search begins") : say("nothing was searched here"))];
  }
  const win = winRate(thought.score), line = play(board.position, thought.pv, board.last);
  const meter = el("div", { class: "meter", role: "img", "aria-label": scoreText(thought.score) }, el("i", {}));
  meter.firstChild.style.width = `${(win ?? 0.5) * 100}%`;
  const limits = thought.soft_ms ? ` / ${secondsText(thought.soft_ms)}` : "";
  const parts = [
    head,
    el("div", { class: "headline" },
      el("span", { class: "score", id: "score", "data-score": thought.score }, scoreText(thought.score)),
      el("span", { class: "best" }, line.texts[0] || thought.move || ""),
      win === null ? "" : el("span", { class: "soft" }, `☗ ${Math.round(win * 100)}%`)),
    meter,
    el("dl", { class: "figures" },
      figure(say("depth"), String(thought.depth)), figure(say("nodes"), countText(thought.nodes)), figure(say("nodes/s"), countText(sum(thought))),
      figure(say("time"), secondsText(thought.ms) + limits), figure(say("agreement"), `${Math.round(thought.agreement * 100)}%`, say("share of the vote's weight for the move")),
      thought.done ? figure(say("decided"), say(SOURCES[thought.source] || thought.source)) : null),
    Object.assign(variation("pv", thought.pv || [], board, pick, branch), { id: "pv" }),
  ];
  if (thought.lines?.length > 1) {
    parts.push(linesList(thought.lines, board, pick, branch));
  }
  return parts;
}

export function votesPanel(thought, board) {
  const head = el("h2", {}, say("votes"));
  const ballots = thought?.ballots || [];
  const live = (thought?.fleet || []).filter((view) => view.alive && view.pv.length && view.node !== "fallback");
  const votes = ballots.length ? ballots : live.map((view) => ({ voter: view.node, move: view.pv[0], score: view.score, depth: view.depth, members: 1 }));
  if (!votes.length) return [head, el("p", { class: "empty" }, say("no votes"))];
  const moves = new Map();
  for (const ballot of votes) {
    const entry = moves.get(ballot.move) || { members: 0, voters: [] };
    entry.members += ballot.members;
    entry.voters.push(ballot);
    moves.set(ballot.move, entry);
  }
  const total = votes.reduce((count, ballot) => count + ballot.members, 0);
  const rows = [...moves].sort((a, b) => b[1].members - a[1].members).map(([move, entry]) =>
    el("div", { class: "vote", "data-move": move },
      el("span", { class: "move" }, usiText(board.position, move, board.last)),
      bar(entry.members / total, move === (thought.move || thought.pv?.[0]) ? "won" : ""),
      el("span", { class: "n" }, `${entry.members}/${total}`),
      el("span", { class: "voters" }, entry.voters.map((ballot) => `${ballot.voter} ${scoreText(ballot.score)} d${ballot.depth}`).join(" · "))));
  return [el("h2", {}, ballots.length ? say("votes") : say("votes so far"), el("span", { class: "aside" }, say("agreement {percent}%", { percent: Math.round((thought.agreement ?? 1) * 100) }))), ...rows];
}

// A job's label is its path and, last, the moves of its leaf: "7g7f 3c3d/8c8d", "7g7f others", "all". Leaves and branches
// in the order in which the nodes have them.
function branches(fleet) {
  const root = { children: [] };
  for (const view of fleet) {
    const words = view.job ? view.job.split(" ") : ["idle"];
    let at = root;
    for (const move of words.slice(0, -1)) {
      let next = at.children.find((child) => child.move === move);
      if (!next) at.children.push((next = { move, children: [] }));
      at = next;
    }
    at.children.push({ view, label: words.at(-1) });
  }
  return root;
}

export function treePanel(thought, colour, board, now) {
  const head = el("h2", {}, say("split tree"));
  const fleet = thought?.fleet || [];
  if (!fleet.length) return [head, el("p", { class: "empty" }, say("no node has reported yet"))];
  const rows = [];
  const best = thought.pv?.[0];
  const walk = (branch, position, last, deep) => {
    for (const { move, children, view, label } of branch.children) {
      if (children) {
        const next = play(position, [move], last);
        const cell = el("td", { class: "branch", colspan: 6 }, next.texts[0] || move);
        cell.style.paddingLeft = `${8 + deep * 18}px`;
        rows.push(el("tr", {}, cell));
        walk({ children }, next.position, next.last, deep + 1);
        continue;
      }
      const words = label === "all" ? say("whole position") : label === "others" ? say("other moves") : label === "idle" ? say("idle") : label.split("/").map((usi) => usiText(position, usi, last)).join(" ");
      const age = view.alive && thought.heard?.[view.node] !== undefined ? (thought.done ? thought.at : now) - thought.heard[view.node] : null;
      const cell = el("td", { class: "leaf" }, el("span", { class: "limb" }, "└ "), words);
      cell.style.paddingLeft = `${8 + deep * 18}px`;
      rows.push(el("tr", { class: (view.alive ? "" : "lost ") + (view.pv[0] === best && view.alive ? "best" : ""), "data-leaf": view.node },
        cell, el("td", {}, view.alive ? view.node : say("{node} lost", { node: view.node })),
        el("td", { class: "n" }, view.depth ? `${view.depth}${view.seldepth > view.depth ? "/" + view.seldepth : ""}` : "–"),
        el("td", { class: "n" }, scoreText(view.score)), el("td", { class: "n age", "data-age": view.node }, ageText(age)),
        el("td", { class: "line" }, play(board.position, view.pv.slice(0, 5), board.last).texts.join(" "))));
    }
  };
  walk(branches(fleet), board.position, board.last, 0);
  const names = [say("move"), say("node"), say("depth"), say("score"), say("age"), say("variation")];
  return [head, table(names, (index) => index >= 2 && index <= 4, rows)];
}

const STATES = { ready: later("ready"), starting: later("starting"), lost: later("lost"), leaving: later("leaving"), failed: later("failed") };

export function nodesPanel(fleet, now) {
  const live = fleet.nodes.filter((node) => node.state === "ready").length;
  const most = Math.max(1, ...fleet.nodes.map((node) => node.nps));
  const head = el("h2", {}, say("fleet"), el("span", { class: "aside", id: "fleet-sum" },
    say("{live} of {all} nodes, {nps} nodes/s", { live, all: fleet.nodes.length, nps: countText(fleet.nps) }) + (fleet.losses ? " · " + say("losses: {count}", { count: fleet.losses }) : "")));
  if (!fleet.nodes.length) return [head, el("p", { class: "empty" }, say("no nodes yet"))];
  const rows = fleet.nodes.map((node) => el("tr", { class: node.state, "data-node": node.node },
    el("td", {}, el("span", { class: "lamp " + node.state }), node.node), el("td", {}, say(STATES[node.state] || node.state)),
    el("td", { class: "text" }, node.host || "–"), el("td", { class: "text" }, node.engine || "–"),
    el("td", { class: "speed" }, bar(node.nps / most), el("span", { class: "n" }, countText(node.nps) + "/s")),
    el("td", { class: "n" }, node.speed ? node.speed.toFixed(2) + "×" : "–"),
    el("td", { class: "n" }, node.hashfull ? (node.hashfull / 10).toFixed(1) + "%" : "–"),
    el("td", { class: "n", "data-since": node.since }, ageText(now - node.since)), el("td", { class: "n" }, String(node.lost || 0))));
  const names = [say("node"), say("state"), say("machine"), say("engine"), say("nodes/s"), say("speed"), say("table"), say("age"), say("losses")];
  return [head, table(names, (index) => index >= 5, rows)];
}

export function figuresPanel(fleet, game) {
  const shared = fleet.shared, ponder = game?.ponder, total = fleet.ponder.hits + fleet.ponder.misses;
  const share = el("div", {}, el("h2", {}, say("table sharing")), shared
    ? el("dl", { class: "figures" },
      figure(say("sent"), `${bytesText(shared.bytes_out_per_s)}/s`, say("by each node, on average")), figure(say("received"), `${bytesText(shared.bytes_in_per_s)}/s`),
      figure(say("entries"), countText(shared.entries_in), say("received in the last search")), figure(say("taken over"), `${Math.round(shared.used_share * 100)}%`, say("of the entries that came")),
      figure(say("least depth"), String(shared.min_depth)), figure(say("dropped"), countText(shared.dropped + shared.lost_batches)))
    : el("p", { class: "empty" }, say("nothing was shared yet")));
  const hits = ponder ? ponder.hits : fleet.ponder.hits;
  const pondering = el("div", {}, el("h2", {}, say("pondering")), total || hits
    ? el("dl", { class: "figures" },
      figure(say("hits"), total ? `${fleet.ponder.hits}/${total}` : String(hits)), figure(say("hit rate"), total ? `${Math.round((fleet.ponder.hits / total) * 100)}%` : "–"),
      figure(say("time won"), secondsText(ponder ? ponder.pondered_ms : null), say("pondered on moves that were played")),
      figure(say("now on"), fleet.pondering ? String(Object.keys(fleet.pondering.replies || {}).length || "–") : "–", say("replies that are pondered on")))
    : el("p", { class: "empty" }, say("no ponder hit or miss yet")));
  const speeds = fleet.speeds.map((entry) => entry[1]);
  const speed = el("div", {}, el("h2", {}, say("nodes/s of all, by search")), speeds.length > 1 ? spark(speeds) : el("p", { class: "empty" }, say("no search has ended yet")));
  return [speed, share, pondering];
}

const EVENTS = {
  node_lost: ["bad", later("{node} is lost: {reason}")], node_joined: ["good", later("{node} searches")], node_ready: ["", later("{node} is ready on {host}")], node_starting: ["", later("{node} starts")],
  node_leaves: ["warn", later("{node} leaves: {why}")], node_failed: ["bad", later("{node} does not start: {why}")], node_drained: ["warn", later("{node} is drained: {why}")],
  node_starves: ["warn", later("{node} has {percent}% of a core")], nodes_left_out: ["warn", later("nodes: {nodes}, not {asked}: too few processors")], ponder_hit: ["good", later("ponder hit")], fallback_lost: ["warn", later("the master's own engine is silent")],
  fallback_failed: ["warn", later("the master's own engine does not start")], dealt: ["", later("moves dealt: {why}")], job_failed: ["bad", later("{node} cannot search {job}")], job_resent: ["warn", later("{node} is told {job} again")],
  report_refused: ["warn", later("a report of {node} is refused: {why}")], message_refused: ["warn", later("a message is refused: {why}")], fleet_broken: ["bad", later("the fleet is broken: {why}")],
  ray_starting: ["", later("Ray starts")], ray_lost: ["bad", later("Ray is lost: {why}")], ray_failed: ["bad", later("Ray does not start: {why}")], supervisor_lost: ["warn", later("a machine's supervisor is lost")], fork_server_lost: ["bad", later("the fork server is lost")], note: ["warn", "{text}"],
};

export function logPanel(entries, only) {
  const shown = only ? entries.filter((entry) => (EVENTS[entry.name] || [""])[0]) : entries;
  const rows = shown.slice().reverse().map((entry) => {
    const [kind, words] = EVENTS[entry.name] || ["", entry.name];
    return el("li", { class: kind, "data-event": entry.name }, el("time", {}, entry.at ? timeOfDay(entry.at) : ""), el("span", {}, say(words, entry.fields)));
  });
  return rows.length ? el("ul", {}, ...rows) : el("p", { class: "empty" }, say("nothing has happened yet"));
}
