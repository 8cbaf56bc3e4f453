"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const NOTHING = 0, OPEN = 1, UNKNOWN = 2, PARTIAL = 3, BLOCKED = 4;
  const WORDS = ["", "open", "unknown", "partial", "blocked"];
  const SIGNS = ["", "·", "?", "~", "✗"];
  const PRINT = { paper: "#ffffff", ink: "#000000", quiet: "#444444", line: "#bbbbbb", accent: "#000000",
    fill: ["#eef0f3", "#cfe2f3", "#8a93a0", "#f0b429", "#b3320e"], sign: ["", "#1d4e79", "#ffffff", "#4a3300", "#ffffff"] };

  /* Unpacking. Browsers without DecompressionStream inflate here, by RFC 1951. */

  function fromBase64(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  }

  async function inflate(text) {
    const bytes = fromBase64(text);
    if (typeof DecompressionStream !== "function") return inflateHere(bytes, 2);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function table(lengths) {
    const count = new Uint16Array(16), offsets = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
    for (const length of lengths) count[length]++;
    count[0] = 0;
    for (let i = 1; i < 16; i++) offsets[i] = offsets[i - 1] + count[i - 1];
    lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
    return { count, symbols };
  }

  function inflateHere(bytes, at) {
    let out = new Uint8Array(bytes.length * 8 + 1024), size = 0, held = 0, kept = 0;
    const bits = (n) => {
      while (kept < n) { held |= bytes[at++] << kept; kept += 8; }
      const value = held & ((1 << n) - 1);
      held >>>= n; kept -= n;
      return value;
    };
    const symbol = ({ count, symbols }) => {
      let code = 0, first = 0, index = 0;
      for (let length = 1; length < 16; length++) {
        code |= bits(1);
        if (code - count[length] < first) return symbols[index + code - first];
        index += count[length]; first = (first + count[length]) << 1; code <<= 1;
      }
      throw new Error("the data of this page is damaged");
    };
    const room = (more) => {
      if (size + more <= out.length) return;
      const wider = new Uint8Array((size + more) * 2);
      wider.set(out); out = wider;
    };
    const LENGTH = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
    const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
    const BACK = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
    const BACK_BITS = BACK.map((_, i) => (i < 2 ? 0 : (i >> 1) - 1));
    const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    for (let last = 0; !last;) {
      last = bits(1);
      const kind = bits(2);
      if (kind === 0) {
        held = kept = 0;
        const length = bytes[at] | bytes[at + 1] << 8;
        at += 4; room(length);
        out.set(bytes.subarray(at, at + length), size);
        at += length; size += length;
        continue;
      }
      let literals, distances;
      if (kind === 1) {
        literals = table(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)));
        distances = table(new Array(30).fill(5));
      } else {
        const many = bits(5) + 257, far = bits(5) + 1, codes = bits(4) + 4, lengths = new Array(19).fill(0);
        for (let i = 0; i < codes; i++) lengths[ORDER[i]] = bits(3);
        const coded = table(lengths), found = [];
        while (found.length < many + far) {
          const value = symbol(coded);
          if (value < 16) found.push(value);
          else {
            const [what, times] = value === 16 ? [found[found.length - 1], 3 + bits(2)] : [0, value === 17 ? 3 + bits(3) : 11 + bits(7)];
            for (let i = 0; i < times; i++) found.push(what);
          }
        }
        literals = table(found.slice(0, many)); distances = table(found.slice(many));
      }
      for (let value = symbol(literals); value !== 256; value = symbol(literals)) {
        if (value < 256) { room(1); out[size++] = value; continue; }
        const length = LENGTH[value - 257] + bits(LENGTH_BITS[value - 257]);
        const place = symbol(distances), back = BACK[place] + bits(BACK_BITS[place]);
        room(length);
        for (let i = 0; i < length; i++, size++) out[size] = out[size - back];
      }
    }
    return out.subarray(0, size);
  }

  /* Small helpers. Text goes into the page as text, never as markup. */

  function make(tag, text, name) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  }
  const number = (value) => value.toLocaleString("en-US");
  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const natural = new Intl.Collator("en", { numeric: true }).compare;
  const POPULATION = Uint8Array.from({ length: 256 }, (_, i) => { let n = 0; for (; i; i >>= 1) n += i & 1; return n; });

  function copyButton(button, text) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const content = text();
      try { await navigator.clipboard.writeText(content); } catch {
        const area = make("textarea", content);
        document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  for (const button of document.querySelectorAll("button[data-copy]")) copyButton(button, () => $(button.dataset.copy).textContent);

  /* Findings. */

  if ($("finding-controls")) {
    const articles = [...document.querySelectorAll("article.finding")];
    const filter = () => {
      const wanted = $("finding-text").value.trim().toLowerCase();
      const severities = new Set([...document.querySelectorAll("#severities input:checked")].map((box) => box.value));
      let shown = 0;
      for (const article of articles) {
        article.hidden = !severities.has(article.dataset.severity) || !article.textContent.toLowerCase().includes(wanted);
        shown += article.hidden ? 0 : 1;
      }
      $("finding-count").textContent = `${shown} of ${plural(articles.length, "finding")}`;
    };
    $("finding-controls").hidden = false;
    $("finding-controls").addEventListener("input", filter);
    $("finding-controls").addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  /* The data: members, kinds, and for each view rows of bits. */

  const packed = JSON.parse($("report-data").textContent);
  const data = JSON.parse(new TextDecoder().decode(await inflate(packed.text)));
  const bits = await inflate(packed.bits);
  const { members, kinds, views, paths, width } = data;
  const total = members.ids.length;
  if (total < 2 || !views.some((view) => view.rows)) { document.documentElement.dataset.ready = "1"; return; }
  const instanceOf = members.instances || Array.from({ length: total }, (_, i) => i);
  const places = new Map(paths.places.map(([need, source, target, path]) => [`${need} ${source} ${target}`, path]));
  const likely = new Map();
  for (const [need, source, target, path] of paths.alike) if (!likely.has(`${need} ${source} ${target}`)) likely.set(`${need} ${source} ${target}`, path);
  const byNeed = new Map(views.filter((view) => view.need >= 0).map((view) => [view.need, view]));
  const one = !members.instances;
  const nameOf = (node) => (members.names[node] || members.ids[node]) + (one ? "" : ` ${members.interfaces[node] || members.addresses[node]}`);

  function code(view, source, target) {
    const row = view.rowOf[source];
    return row < 0 || instanceOf[source] === instanceOf[target] ? NOTHING : rowCode(view, row, target);
  }
  function rowCode(view, row, target) {
    const at = row * width + (target >> 3), mask = 1 << (target & 7);
    if (view.blocked >= 0 && bits[view.blocked + at] & mask) return BLOCKED;
    if (view.partial >= 0 && bits[view.partial + at] & mask) return PARTIAL;
    if (view.unknown >= 0 && bits[view.unknown + at] & mask) return UNKNOWN;
    return view.scope >= 0 && bits[view.scope + at] & mask ? OPEN : NOTHING;
  }
  const planesOf = (view) => [[BLOCKED, view.blocked], [PARTIAL, view.partial], [UNKNOWN, view.unknown]].filter(([, at]) => at >= 0);

  function scores(view) {
    if (view.scores) return view.scores;
    const found = new Float64Array(total), sources = new Array(view.rows).fill(0);
    for (const row of view.rowOf) if (row >= 0) sources[row]++;
    const own = new Float64Array(view.rows);
    for (const [, plane] of planesOf(view))
      for (let row = 0; row < view.rows; row++)
        for (let byte = 0; byte < width; byte++) {
          const value = bits[plane + row * width + byte];
          if (!value) continue;
          own[row] += POPULATION[value];
          for (let bit = 0; bit < 8; bit++) if (value >> bit & 1) found[byte * 8 + bit] += sources[row];
        }
    view.rowOf.forEach((row, node) => { if (row >= 0) found[node] += own[row]; });
    view.scores = found;
    return found;
  }

  /* What is shown: lines are members or kinds, in an order, less what is filtered away. */

  const state = { view: views[0], mode: "members", sort: "worst", from: "", to: "", verdicts: new Set(WORDS.slice(1)) };
  let rows = [], columns = [], layout = null, cursor = null, hover = null, base = null, printing = false;
  let zoom = 1, left = 0, top = 0;

  const kindMembers = kinds.map(() => []);
  members.kinds.forEach((kind, node) => kindMembers[kind].push(node));
  const searched = members.ids.map((id, node) => {
    const kind = kinds[members.kinds[node]];
    return [members.names[node], id, members.interfaces[node], members.addresses[node], kind.subnet, kind.groups, kind.zone, kind.vpc].join("\n").toLowerCase();
  });

  function lines() {
    const found = state.mode === "kinds"
      ? kindMembers.map((nodes, kind) => ({ nodes, kind, name: `${nodes.length} × ${kinds[kind].names}` }))
      : members.ids.map((_, node) => ({ nodes: [node], kind: members.kinds[node], name: nameOf(node) }));
    const score = state.sort === "worst" ? scores(state.view) : null;
    for (const line of found) {
      const kind = kinds[line.kind];
      line.band = state.sort === "group" ? kind.names : state.sort === "name" ? "" : kind.place;
      line.score = score ? line.nodes.reduce((sum, node) => sum + score[node], 0) / line.nodes.length : 0;
    }
    const keys = {
      worst: (a, b) => b.score - a.score || a.kind - b.kind || natural(a.name, b.name),
      name: (a, b) => natural(a.name, b.name),
      subnet: (a, b) => natural(a.band, b.band) || natural(kinds[a.kind].names, kinds[b.kind].names) || natural(a.name, b.name),
      group: (a, b) => natural(a.band, b.band) || natural(kinds[a.kind].subnet, kinds[b.kind].subnet) || natural(a.name, b.name),
    };
    return found.sort(keys[state.sort]);
  }

  function matching(all, text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return all;
    return all.map((line) => ({ ...line, nodes: line.nodes.filter((node) => searched[node].includes(wanted)) })).filter((line) => line.nodes.length);
  }

  function maskOf(some) {
    const mask = new Uint8Array(width);
    for (const line of some) for (const node of line.nodes) mask[node >> 3] |= 1 << (node & 7);
    return mask;
  }

  /* The sets of targets of a row, by verdict, within a mask. */
  function* slices(view, row, mask) {
    const at = row * width, rest = new Uint8Array(width);
    if (view.scope >= 0) for (let i = 0; i < width; i++) rest[i] = bits[view.scope + at + i] & mask[i];
    for (const [verdict, plane] of planesOf(view)) {
      const found = new Uint8Array(width);
      for (let i = 0; i < width; i++) { found[i] = bits[plane + at + i] & rest[i]; rest[i] ^= found[i]; }
      yield [verdict, found];
    }
    yield [OPEN, rest];
  }

  function byRow(from) {
    const sources = new Map();
    for (const line of from) for (const node of line.nodes) {
      const row = state.view.rowOf[node];
      if (row >= 0) { if (sources.has(row)) sources.get(row).push(node); else sources.set(row, [node]); }
    }
    return sources;
  }

  function tally(from, to) {
    const view = state.view, counts = [0, 0, 0, 0, 0], mask = maskOf(to);
    for (const [row, nodes] of byRow(from)) {
      for (const [verdict, found] of slices(view, row, mask)) {
        let size = 0;
        for (const value of found) size += POPULATION[value];
        counts[verdict] += size * nodes.length;
        for (const node of nodes) for (const twin of twins[instanceOf[node]]) if (found[twin >> 3] >> (twin & 7) & 1) counts[verdict]--;
      }
    }
    return counts;
  }
  const twins = [];
  instanceOf.forEach((instance, node) => (twins[instance] ||= []).push(node));

  function narrowed(from, to) {
    if (state.verdicts.size === 4) return [from, to];
    const view = state.view, mask = maskOf(to), kept = new Map(), hit = new Uint8Array(width);
    const isIn = (set, node) => set[node >> 3] >> (node & 7) & 1;
    for (const [row, nodes] of byRow(from)) {
      const found = new Uint8Array(width);
      for (const [verdict, some] of slices(view, row, mask)) if (state.verdicts.has(WORDS[verdict])) some.forEach((value, i) => { found[i] |= value; });
      kept.set(row, found);
      // Nobody dials itself: what a row of its own says of a member does not keep that member's column.
      const others = found.slice();
      if (nodes.every((node) => instanceOf[node] === instanceOf[nodes[0]])) for (const twin of twins[instanceOf[nodes[0]]]) others[twin >> 3] &= ~(1 << (twin & 7));
      others.forEach((value, i) => { hit[i] |= value; });
    }
    const has = (node) => {
      const found = kept.get(view.rowOf[node]);
      if (!found) return false;
      let any = 0;
      for (const value of found) any += POPULATION[value];
      return any > twins[instanceOf[node]].filter((twin) => isIn(found, twin)).length;
    };
    return [from.filter((line) => line.nodes.some(has)), to.filter((line) => line.nodes.some((node) => isIn(hit, node)))];
  }

  function refresh() {
    const all = lines();
    [rows, columns] = narrowed(matching(all, state.from), matching(all, state.to));
    cursor = hover = null; $("tip").hidden = true;
    zoom = 1; left = top = 0;
    const counts = rows.length && columns.length ? tally(rows, columns) : [0, 0, 0, 0, 0];
    const said = [BLOCKED, PARTIAL, UNKNOWN, OPEN].filter((verdict) => counts[verdict]).map((verdict) => `${number(counts[verdict])} ${WORDS[verdict]}`);
    const noun = state.mode === "kinds" ? "kinds" : "members";
    $("shown").textContent = rows.length && columns.length
      ? `${number(rows.length)} by ${number(columns.length)} ${noun}: ${said.join(", ") || "no pair that is asked about"}` : "Nothing matches these filters";
    draw();
    $("map").setAttribute("aria-label", `Who reaches whom, ${state.view.label}. ${$("shown").textContent}.`);
  }

  /* Drawing. */

  const canvas = $("map"), context = canvas.getContext("2d");

  function palette() {
    if (printing) return PRINT;
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(`--${name}`).trim();
    return { paper: get("paper"), ink: get("ink"), quiet: get("quiet"), line: get("line"), accent: get("accent"),
      fill: ["nothing", "open", "unknown", "partial", "blocked"].map(get), sign: ["", ...["open", "unknown", "partial", "blocked"].map((name) => get(`${name}-ink`))] };
  }

  function clipped(text, room) {
    if (context.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) { const half = (low + high + 1) >> 1; if (context.measureText(`${text.slice(0, half)}…`).width <= room) low = half; else high = half - 1; }
    return low ? `${text.slice(0, low)}…` : "";
  }

  function measure() {
    const room = canvas.parentElement.clientWidth, tallest = Math.max(320, Math.min(720, window.innerHeight * 0.75));
    context.font = FONT;
    const widest = (some, most) => some.length > 400 ? most : Math.min(most, Math.max(24, ...some.map((line) => context.measureText(line.name).width)) + 14);
    const bands = (some, most) => {
      const names = [...new Set(some.map((line) => line.band))];
      return names.length < 2 || names.length > 200 ? 12 : Math.min(most, Math.max(...names.map((name) => context.measureText(name).width)) + 14);
    };
    const side = Math.min(240, room * 0.32), head = 130;
    const fit = (labelled) => {
      const gutter = labelled ? widest(rows, side) : bands(rows, Math.min(150, side));
      const brow = labelled ? widest(columns, head) : bands(columns, 96);
      let w = Math.min(36, (room - gutter - 8) / columns.length), h = Math.min(36, (tallest - brow - 8) / rows.length);
      if (rows.length === columns.length || Math.max(w, h) < 12) w = h = Math.min(w, h);
      return { gutter, brow, w, h };
    };
    let found = fit(true);
    if (found.h * zoom < LABELLED || found.w * zoom < LABELLED) found = { ...found, ...fit(false) };
    const { gutter, brow, w, h } = found;
    const tall = Math.ceil(brow + Math.min(rows.length * h * zoom, Math.max(rows.length * h, tallest - brow - 8)) + 8);
    return { room, tall, gutter, brow, w: w * zoom, h: h * zoom, across: room - gutter - 8, down: tall - brow - 8 };
  }
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
  const LABELLED = 12;

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.parentElement.clientWidth < 60) return;
    if (!rows.length || !columns.length) { canvas.width = canvas.height = 1; canvas.hidden = true; base = null; return; }
    canvas.hidden = false;
    layout = measure();
    left = Math.max(0, Math.min(left, columns.length * layout.w - layout.across));
    top = Math.max(0, Math.min(top, rows.length * layout.h - layout.down));
    canvas.width = Math.round(layout.room * ratio); canvas.height = Math.round(layout.tall * ratio);
    canvas.style.height = `${layout.tall}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colors = palette();
    context.fillStyle = colors.paper; context.fillRect(0, 0, layout.room, layout.tall);
    context.save();
    context.beginPath(); context.rect(layout.gutter, layout.brow, layout.across, layout.down); context.clip();
    (layout.w < 3 || layout.h < 3 ? drawImage : drawCells)(colors, ratio);
    context.restore();
    drawAxis(colors, true); drawAxis(colors, false);
    base = document.createElement("canvas");
    base.width = canvas.width; base.height = canvas.height;
    base.getContext("2d").drawImage(canvas, 0, 0);
    mark(colors);
  }

  const visible = (offset, size, room, count) => [Math.max(0, Math.floor(offset / size)), Math.min(count, Math.ceil((offset + room) / size))];
  const faded = (verdict) => verdict !== NOTHING && !state.verdicts.has(WORDS[verdict]);

  function cell(source, target) {
    let worst = NOTHING;
    const view = state.view, same = rows[source].kind === columns[target].kind;
    if (rows[source].nodes.length > 64) {
      const seen = new Set();
      for (const node of rows[source].nodes) {
        const row = view.rowOf[node];
        if (row < 0 || seen.has(row)) continue;
        seen.add(row);
        for (const other of columns[target].nodes) if (!same || other !== node) { worst = Math.max(worst, rowCode(view, row, other)); if (worst === BLOCKED) return worst; }
      }
      return worst;
    }
    for (const node of rows[source].nodes)
      for (const other of columns[target].nodes) { worst = Math.max(worst, code(view, node, other)); if (worst === BLOCKED) return worst; }
    return worst;
  }

  function drawCells(colors) {
    const { w, h, gutter, brow } = layout, gap = Math.min(w, h) >= 6 ? 1 : 0;
    const [r0, r1] = visible(top, h, layout.down, rows.length), [c0, c1] = visible(left, w, layout.across, columns.length);
    context.font = '600 12px system-ui, "DejaVu Sans", sans-serif'; context.textAlign = "center"; context.textBaseline = "middle";
    for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
      const verdict = cell(r, c), x = Math.round(gutter + c * w - left), y = Math.round(brow + r * h - top);
      const wide = Math.round(gutter + (c + 1) * w - left) - x - gap, high = Math.round(brow + (r + 1) * h - top) - y - gap;
      context.globalAlpha = faded(verdict) ? 0.15 : 1;
      context.fillStyle = colors.fill[verdict];
      context.fillRect(x, y, wide, high);
      if (verdict && Math.min(w, h) >= 16) { context.fillStyle = colors.sign[verdict]; context.fillText(SIGNS[verdict], x + wide / 2, y + high / 2 + 1); }
    }
    context.globalAlpha = 1;
  }

  /* Many cells on one pixel: the gravest shows. */
  function drawImage(colors, ratio) {
    const { w, h, gutter, brow } = layout, view = state.view;
    const [r0, r1] = visible(top, h, layout.down, rows.length), [c0, c1] = visible(left, w, layout.across, columns.length);
    const down = Math.max(1, Math.min(r1 - r0, Math.round((r1 - r0) * h * ratio))), across = Math.max(1, Math.min(c1 - c0, Math.round((c1 - c0) * w * ratio)));
    const others = [], at = [];
    for (let c = c0; c < c1; c++) for (const node of columns[c].nodes) { others.push(node); at.push(Math.floor((c - c0) * across / (c1 - c0))); }
    const known = new Map();
    const codes = (row) => {
      let found = known.get(row);
      if (!found) {
        found = new Uint8Array(across);
        for (let i = 0; i < others.length; i++) { const verdict = rowCode(view, row, others[i]); if (verdict > found[at[i]]) found[at[i]] = verdict; }
        known.set(row, found);
      }
      return found;
    };
    const image = context.createImageData(across, down), rgb = colors.fill.map(rgbOf), paper = rgbOf(colors.paper);
    for (let y = 0; y < down; y++) {
      const worst = new Uint8Array(across), seen = new Set();
      const begin = r0 + Math.ceil(y * (r1 - r0) / down), end = r0 + Math.ceil((y + 1) * (r1 - r0) / down);
      for (let r = begin; r < end; r++) for (const node of rows[r].nodes) {
        const row = view.rowOf[node];
        if (row < 0 || seen.has(row)) continue;
        seen.add(row);
        const found = codes(row);
        for (let x = 0; x < across; x++) if (found[x] > worst[x]) worst[x] = found[x];
      }
      if (end - begin === 1 && across === c1 - c0) for (let x = 0; x < across; x++) if (rows[begin].kind === columns[c0 + x].kind) worst[x] = cell(begin, c0 + x);
      for (let x = 0; x < across; x++) {
        const color = rgb[worst[x]], dim = faded(worst[x]) ? 0.85 : 0, to = (y * across + x) * 4;
        for (let i = 0; i < 3; i++) image.data[to + i] = color[i] * (1 - dim) + paper[i] * dim;
        image.data[to + 3] = 255;
      }
    }
    const sheet = document.createElement("canvas");
    sheet.width = across; sheet.height = down;
    sheet.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(sheet, gutter + c0 * w - left, brow + r0 * h - top, (c1 - c0) * w, (r1 - r0) * h);
  }
  const rgbOf = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

  function drawAxis(colors, sideways) {
    const some = sideways ? rows : columns, size = sideways ? layout.h : layout.w, offset = sideways ? top : left;
    const start = sideways ? layout.brow : layout.gutter, room = sideways ? layout.down : layout.across, space = sideways ? layout.gutter : layout.brow;
    const [first, end] = visible(offset, size, room, some.length);
    context.save();
    context.beginPath();
    if (sideways) context.rect(0, start, layout.room, room); else context.rect(start, 0, room, layout.tall);
    context.clip();
    context.font = FONT; context.textBaseline = "middle"; context.fillStyle = colors.ink; context.strokeStyle = colors.quiet;
    const write = (text, middle, most) => {
      context.save();
      if (sideways) { context.textAlign = "right"; context.fillText(clipped(text, most), layout.gutter - 7, middle); }
      else { context.translate(middle, layout.brow - 7); context.rotate(-Math.PI / 2); context.textAlign = "left"; context.fillText(clipped(text, most), 0, 0); }
      context.restore();
    };
    if (size >= LABELLED) for (let i = first; i < end; i++) write(some[i].name, start + (i + 0.5) * size - offset, space - 12);
    for (let i = first; i < end;) {
      let next = i + 1;
      while (next < some.length && some[next].band === some[i].band) next++;
      const from = Math.max(start, start + i * size - offset), to = Math.min(start + room, start + next * size - offset);
      if (size < LABELLED && some[i].band && to - from >= 13) write(some[i].band, (from + to) / 2, space - 12);
      let after = next;
      while (after < some.length && after - next < 40 && some[after].band === some[next].band) after++;
      if (next < end && Math.min(next - i, after - next) * size >= 6) {
        context.beginPath();
        if (sideways) { context.moveTo(layout.gutter - 5, to - 0.5); context.lineTo(layout.room, to - 0.5); } else { context.moveTo(to - 0.5, layout.brow - 5); context.lineTo(to - 0.5, layout.tall); }
        context.globalAlpha = 0.55; context.stroke(); context.globalAlpha = 1;
      }
      i = next;
    }
    context.restore();
  }

  function mark(colors = palette()) {
    if (!base) return;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0); context.drawImage(base, 0, 0);
    context.restore();
    context.save();
    context.beginPath(); context.rect(layout.gutter - 2, layout.brow - 2, layout.across + 4, layout.down + 4); context.clip();
    for (const [at, line] of [[hover, 1.5], [cursor, 2.5]]) {
      if (!at) continue;
      const w = Math.max(layout.w, 5), h = Math.max(layout.h, 5);
      context.strokeStyle = at === cursor ? colors.accent : colors.ink; context.lineWidth = line;
      context.strokeRect(layout.gutter + at.c * layout.w - left - 1, layout.brow + at.r * layout.h - top - 1, w + 1, h + 1);
    }
    context.restore();
  }

  /* Saying what is there. */

  function worstPair(r, c) {
    let best = null, worst = -1, tries = 0;
    for (const source of rows[r].nodes) for (const target of columns[c].nodes) {
      if (instanceOf[source] === instanceOf[target]) continue;
      const verdict = code(state.view, source, target);
      if (verdict > worst) { worst = verdict; best = [source, target]; }
      if (worst === BLOCKED || ++tries > 200000) return best;
    }
    return best;
  }

  function verdictText({ r, c }) {
    const row = rows[r], column = columns[c];
    if (row.nodes.length > 1 || column.nodes.length > 1) {
      const counts = tally([row], [column]);
      const said = [BLOCKED, PARTIAL, UNKNOWN, OPEN].filter((verdict) => counts[verdict]).map((verdict) => `${number(counts[verdict])} ${WORDS[verdict]}`);
      const where = (line) => `${line.name}, ${kinds[line.kind].subnet}`;
      return `${where(row)}\nto ${where(column)}\n${said.join(", ") || "no pair that is asked about"}`;
    }
    const [source] = row.nodes, [target] = column.nodes;
    const head = `${nameOf(source)} ${members.addresses[source]}\nto ${nameOf(target)} ${members.addresses[target]}\n`;
    if (instanceOf[source] === instanceOf[target]) return `${nameOf(source)}: nobody dials itself`;
    const verdict = code(state.view, source, target);
    const asked = state.view.need === -1 ? [...byNeed.values()].map((view) => [view, code(view, source, target)]).filter(([, found]) => found) : [];
    return head + (WORDS[verdict] || "nothing asked") + asked.map(([view, found]) => `\n${view.label}: ${WORDS[found]}`).join("");
  }

  function pathOf(view, source, target) {
    const classes = paths.classOf[paths.classes[view.protocol]];
    const found = classes && places.get(`${view.need} ${classes[source]} ${classes[target]}`);
    return found === undefined ? null : paths.paths[found];
  }

  function alikeOf(view, source, target) {
    const fares = paths.alikeOf[view.need];
    const found = fares && fares.length ? likely.get(`${view.need} ${fares[source]} ${fares[target]}`) : undefined;
    return found === undefined ? null : paths.paths[found];
  }

  function key(word) {
    const place = WORDS.indexOf(word);
    const element = make("i", SIGNS[Math.max(0, place)], `key ${word}`);
    element.setAttribute("aria-hidden", "true");
    return element;
  }

  function told(path, source, target, near) {
    const text = (place) => paths.texts[place], box = make("div"), list = make("ol", undefined, "hops");
    const [one, other, , , hops, todo] = path;
    if (near) box.append(make("p", `A pair with the same verdicts, ${nameOf(one)} to ${nameOf(other)}; its rules may differ from those of this pair:`, "hint"));
    else if (one !== source || other !== target)
      box.append(make("p", `Worked out for ${nameOf(one)} to ${nameOf(other)}: every rule treats these two pairs alike.`, "hint"));
    let way = -1;
    for (const [title, resource, verdict, back, open, rules, stops] of hops) {
      if (back !== way) { way = back; list.append(make("li", back ? "and back" : "there", "way")); }
      const skipped = text(verdict) === "not-asked", item = make("li", undefined, skipped ? "skipped" : "");
      if (!skipped) item.append(key(text(verdict)));
      item.append(make("span", text(title)), " ", make("bdi", text(resource), "quiet"));
      item.append(make("span", skipped ? ": not asked within one subnet" : text(verdict) === "open" ? "" : `: ${text(verdict)}${text(open) ? `, open after it: ${text(open)}` : ""}`, "ports"));
      for (const [code, message] of stops) { const line = make("div", undefined, "stop"); line.append(make("code", text(code)), " ", make("bdi", text(message))); item.append(line); }
      if (rules.length && !skipped) { const inner = make("ul"); for (const rule of rules) { const entry = make("li"); entry.append(make("bdi", text(rule))); inner.append(entry); } item.append(inner); }
      list.append(item);
    }
    box.append(list);
    if (todo.length) {
      box.append(make("strong", "What to change"));
      const steps = make("ol", undefined, "todo");
      for (const place of todo) { const step = make("li"); step.append(make("bdi", text(place))); steps.append(step); }
      box.append(steps);
    }
    return box;
  }

  function command(view, source, target) {
    const text = `sgaudit explain ${members.ids[source]} ${members.ids[target]} --protocol ${view.protocol}${view.pinned ? ` --port ${view.pinned}` : ""}`;
    const box = make("div", undefined, "copy"), head = make("div", undefined, "copy-head"), button = make("button", "Copy");
    button.type = "button"; copyButton(button, () => text);
    head.append(make("span", "This path is not in the page; with the options of the scan, this command follows it:"), button);
    box.append(head, make("pre", text));
    return box;
  }

  function explain(at) {
    const panel = $("explained"), pair = worstPair(at.r, at.c);
    panel.replaceChildren();
    if (!pair) { panel.append(make("p", "Nothing is asked here: nobody dials itself.")); return; }
    const [source, target] = pair, many = rows[at.r].nodes.length > 1 || columns[at.c].nodes.length > 1;
    const title = make("h3");
    title.append(make("bdi", nameOf(source)), " to ", make("bdi", nameOf(target)));
    panel.append(title, make("p", `${members.ids[source]} ${members.addresses[source]} to ${members.ids[target]} ${members.addresses[target]}`, "hint"));
    if (many) panel.append(make("p", `The gravest pair of: ${verdictText(at).replaceAll("\n", " ")}.`, "hint"));
    if (state.view.need === -2) panel.append(make("p", `After the plan: ${WORDS[code(state.view, source, target)] || "nothing asked"}. The path is the one of today.`));
    const shown = state.view.need >= 0 ? [state.view] : [...byNeed.values()];
    let opened = false;
    for (const view of shown) {
      const verdict = code(view, source, target);
      if (!verdict) continue;
      const box = make("details"), summary = make("summary");
      summary.append(key(WORDS[verdict]), ` ${view.label}: ${WORDS[verdict]}`);
      box.append(summary);
      const path = pathOf(view, source, target);
      if (paths.efa.includes(view.need)) box.append(make("p", "EFA traffic takes no path of hops: its groups must admit all traffic from and to each other. The findings say which do not.", "hint"));
      else if (path) box.append(told(path, source, target));
      else {
        const near = alikeOf(view, source, target);
        box.append(command(view, source, target));
        if (near) box.append(told(near, source, target, true));
      }
      if (!opened && (verdict !== OPEN || shown.length === 1)) box.open = opened = true;
      panel.append(box);
    }
    if (panel.childElementCount < 3) panel.append(make("p", "No need asks about this pair."));
    if (!opened && panel.querySelector("details")) panel.querySelector("details").open = true;
  }

  /* Pointer, wheel, touch and keys. */

  function cellAt(event) {
    if (!layout || !rows.length || !columns.length) return null;
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - layout.gutter, y = event.clientY - box.top - layout.brow;
    if (x < 0 || y < 0 || x >= layout.across || y >= layout.down) return null;
    const r = Math.floor((y + top) / layout.h), c = Math.floor((x + left) / layout.w);
    return r < rows.length && c < columns.length ? { r, c } : null;
  }

  function showTip(event, at) {
    const tip = $("tip");
    tip.hidden = !at;
    if (!at) return;
    tip.textContent = verdictText(at);
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const right = x + 16 + tip.offsetWidth > box.width, low = y + 16 + tip.offsetHeight > box.height;
    tip.style.left = `${Math.max(4, right ? x - tip.offsetWidth - 10 : x + 16)}px`;
    tip.style.top = `${Math.max(4, low ? y - tip.offsetHeight - 10 : y + 16)}px`;
  }

  function zoomAt(factor, event) {
    if (!layout) return;
    const box = canvas.getBoundingClientRect();
    const x = event ? event.clientX - box.left - layout.gutter : layout.across / 2, y = event ? event.clientY - box.top - layout.brow : layout.down / 2;
    const column = (left + x) / layout.w, row = (top + y) / layout.h, largest = 48 / (Math.min(layout.w, layout.h) / zoom);
    zoom = Math.max(1, Math.min(zoom * factor, Math.max(1, largest)));
    layout = measure();
    left = column * layout.w - x; top = row * layout.h - y;
    draw();
    canvas.style.touchAction = zoom > 1 ? "none" : "pan-y";
  }

  function select(at, said) {
    cursor = at; hover = null;
    const { w, h } = layout;
    if (at.c * w < left) left = at.c * w;
    if ((at.c + 1) * w > left + layout.across) left = (at.c + 1) * w - layout.across;
    if (at.r * h < top) top = at.r * h;
    if ((at.r + 1) * h > top + layout.down) top = (at.r + 1) * h - layout.down;
    draw();
    if (said) $("said").textContent = verdictText(at).replaceAll("\n", ", ");
  }

  const fingers = new Map();
  let dragged = false, pressed = null, span = 0;
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
    pressed = { x: event.clientX, y: event.clientY, left, top }; dragged = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) {
      fingers.set(event.pointerId, event);
      const [one, other] = fingers.values();
      if (other) {
        const now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        if (span) zoomAt(now / span, { clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 });
        span = now; dragged = true;
      } else if (dragged || Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 4) {
        dragged = true; left = pressed.left - event.clientX + pressed.x; top = pressed.top - event.clientY + pressed.y;
        $("tip").hidden = true; draw();
      }
      return;
    }
    const at = cellAt(event);
    if (at?.r !== hover?.r || at?.c !== hover?.c) { hover = at; mark(); }
    showTip(event, at);
  });
  const lifted = (event) => { fingers.delete(event.pointerId); span = 0; };
  canvas.addEventListener("pointercancel", lifted);
  canvas.addEventListener("pointerup", (event) => {
    const alone = fingers.size === 1; lifted(event);
    const at = !dragged && alone && cellAt(event);
    if (at) { select(at, true); if (event.pointerType === "touch") showTip(event, at); explain(at); }
  });
  canvas.addEventListener("pointerleave", () => { hover = null; $("tip").hidden = true; mark(); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault(); zoomAt(Math.exp(-event.deltaY / 200), event);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (!rows.length || !columns.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cursor || { r: 0, c: -1 }, last = { r: rows.length - 1, c: columns.length - 1 };
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -at.c], End: [0, last.c - at.c],
      PageUp: [-10, 0], PageDown: [10, 0] };
    if (moves[event.key]) {
      const [down, right] = moves[event.key];
      select({ r: Math.max(0, Math.min(last.r, at.r + down)), c: Math.max(0, Math.min(last.c, at.c + right)) }, true);
    } else if (event.key === "Enter" || event.key === " ") {
      if (!cursor) select({ r: 0, c: 0 }, true);
      explain(cursor); $("explained").focus();
    } else if (event.key === "+" || event.key === "=") zoomAt(1.5);
    else if (event.key === "-") zoomAt(1 / 1.5);
    else if (event.key === "0") { zoom = 1; left = top = 0; draw(); }
    else return;
    event.preventDefault();
  });
  $("explained").addEventListener("keydown", (event) => { if (event.key === "Escape") { canvas.focus(); } });
  $("zoom-in").addEventListener("click", () => zoomAt(1.5));
  $("zoom-out").addEventListener("click", () => zoomAt(1 / 1.5));
  $("fit").addEventListener("click", () => { zoom = 1; left = top = 0; draw(); });

  /* Controls. */

  function option(text, value) { const item = make("option", text); item.value = value; return item; }

  function fillViews() {
    const port = $("port").value.trim(), asked = Number(port);
    const usable = views.map((view, place) => [view, place]).filter(([view]) => !port || (view.pinned && view.ports.some(([low, high]) => low <= asked && asked <= high)));
    $("view").replaceChildren(...(usable.length ? usable.map(([view, place]) => option(view.label, place)) : [option(`no need asks for port ${port}`, "")]));
    $("view").disabled = !usable.length;
    const kept = usable.find(([view]) => view === state.view) || usable[0];
    if (kept) { $("view").value = kept[1]; state.view = kept[0]; }
  }

  $("lines").append(option(`members (${number(total)})`, "members"));
  if (kinds.length < total) $("lines").append(option(`kinds: subnet and groups (${number(kinds.length)})`, "kinds"));
  if (total > 150 && kinds.length < total / 2) state.mode = "kinds";
  $("lines").value = state.mode;
  const trouble = views[0].counts.blocked + views[0].counts.partial + views[0].counts.unknown;
  state.sort = $("sort").value = trouble && total > 24 ? "worst" : total > 24 ? "subnet" : "name";
  fillViews();
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 150); };
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("view").addEventListener("change", () => { state.view = views[$("view").value]; refresh(); });
  $("port").addEventListener("input", () => { fillViews(); soon(); });
  $("lines").addEventListener("change", () => { state.mode = $("lines").value; refresh(); });
  $("sort").addEventListener("change", () => { state.sort = $("sort").value; refresh(); });
  $("from").addEventListener("input", () => { state.from = $("from").value; soon(); });
  $("to").addEventListener("input", () => { state.to = $("to").value; soon(); });
  $("verdicts").addEventListener("change", () => {
    state.verdicts = new Set([...document.querySelectorAll("#verdicts input:checked")].map((box) => box.value));
    refresh();
  });
  $("controls").hidden = $("stage").hidden = false;
  refresh();
  let across = canvas.parentElement.clientWidth;
  new ResizeObserver(() => { const now = canvas.parentElement.clientWidth; if (now !== across) { across = now; draw(); } }).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const paper = (on) => {
    printing = on; draw();
    for (const box of document.querySelectorAll("details")) {
      if (on) { box.dataset.was = box.open ? "1" : ""; box.open = true; } else if (box.dataset.was === "") box.open = false;
    }
  };
  window.addEventListener("beforeprint", () => paper(true));
  window.addEventListener("afterprint", () => paper(false));
  document.documentElement.dataset.ready = "1";
})();
