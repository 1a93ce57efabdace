// From numbers to places on the page: straight scales, ticks at round numbers, and at round dates.

export const linear = (from, to) => {
  const [a, b] = from, [c, d] = to;
  const scale = (value) => c + ((value - a) / (b - a)) * (d - c);
  scale.back = (place) => a + ((place - c) / (d - c)) * (b - a);
  return scale;
};

/** Round numbers between two ends, about so many. */
export function ticks(low, high, about) {
  const raw = (high - low) / Math.max(about, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= raw * 0.999) ?? 10);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

const SECOND = 1e3, MINUTE = 60e3, HOUR = 3600e3, DAY = 86400e3;
const SPANS = [SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600];

/** Round dates between two times in milliseconds, and how they are written. */
export function dateTicks(low, high, about) {
  const raw = (high - low) / Math.max(about, 1);
  const span = SPANS.find((each) => each >= raw);
  if (raw < SECOND) return ticks(low, high, about).map((t) => [t, new Date(t).toISOString().slice(17, 23)]);
  if (span) {
    const found = [];
    for (let t = Math.ceil(low / span) * span; t <= high; t += span) {
      const text = new Date(t).toISOString();
      found.push([t, span >= DAY ? text.slice(5, 10) : span >= MINUTE ? text.slice(11, 16) : text.slice(11, 19)]);
    }
    return found;
  }
  const months = MONTHS.find((each) => each * 30 * DAY >= raw) ?? 1200;
  const first = new Date(low);
  let index = first.getUTCFullYear() * 12 + first.getUTCMonth();
  const found = [];
  for (index = Math.ceil(index / months) * months; ; index += months) {
    const t = Date.UTC(Math.floor(index / 12), index % 12, 1);
    if (t > high) return found;
    const text = new Date(t).toISOString();
    if (t >= low) found.push([t, months >= 12 ? text.slice(0, 4) : text.slice(0, 7)]);
  }
}

/** Least and largest of numbers that are there; null where there are none. */
export function extent(lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/** The index of the value that is nearest, of values that rise. */
export function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle;
    else high = middle;
  }
  return Math.abs(values[high] - wanted) < Math.abs(values[low] - wanted) ? high : low;
}
