// What the samples of a load say.

export const PERCENTILES = [10, 25, 50, 75, 90, 99];

const failedOf = (samples) => samples.filter(({ employee }) => employee === undefined).length;

/** How many requests each of these did, in their order. */
function countsOf(samples, names) {
	const counts = new Map(names.map((name) => [name, 0]));
	for (const { employee } of samples) if (counts.has(employee)) counts.set(employee, counts.get(employee) + 1);
	return counts;
}

/** The share of each instance, percentiles in ms (nearest rank), and how many failed. */
export function figuresOf(samples, names) {
	const sorted = samples.map(({ startedMs, endedMs }) => endedMs - startedMs).sort((left, right) => left - right);
	const rank = (percentile) => sorted[Math.max(0, Math.ceil((percentile / 100) * sorted.length) - 1)];
	return {
		requests: samples.length,
		failed: failedOf(samples),
		requestsPerSecond: (samples.length * 1000) / (samples.at(-1).endedMs - samples[0].startedMs),
		shares: [...countsOf(samples, names).values()].map((count) => count / samples.length),
		latencyMs: Object.fromEntries(PERCENTILES.map((percentile) => [`p${percentile}`, rank(percentile)])),
	};
}

/** Replies over which shares are taken. */
const WINDOW = 100;

/** Every one of these did at least half of its fair share, and at most one and a half of it. */
function isEven(samples, names) {
	const fair = samples.length / names.length;
	return [...countsOf(samples, names).values()].every((count) => count >= fair / 2 && count <= fair * 1.5);
}

/** When the first window of replies began in which the shares are even, in ms after `toldMs`; null: there is none. */
function evenAfterMs(samples, names, toldMs) {
	const later = samples.filter(({ endedMs }) => endedMs >= toldMs);
	for (let start = 0; start + WINDOW <= later.length; start++) {
		if (isEven(later.slice(start, start + WINDOW), names)) return later[start].endedMs - toldMs;
	}
	return null;
}

/** What a change did: an instance was killed, and the registry told of it and of a new one at `toldMs`. */
export function changeOf(samples, names, toldMs) {
	return { requests: samples.length, failed: failedOf(samples), evenAfterMs: evenAfterMs(samples, names, toldMs) };
}
