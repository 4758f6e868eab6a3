const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration as people say it, rounded down: `202 ms`, `4.1 s`, `47 s`, `3m 47s`, `2h 5m`, `9d 3h`. */
export function formatDuration(ms: number): string {
	const whole = Math.max(0, Math.floor(ms));
	if (whole < SECOND) return `${whole} ms`;
	if (whole < 10 * SECOND) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
	if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`;
	if (whole < HOUR) return two(whole, [MINUTE, 'm'], [SECOND, 's']);
	if (whole < DAY) return two(whole, [HOUR, 'h'], [MINUTE, 'm']);
	return two(whole, [DAY, 'd'], [HOUR, 'h']);
}

type Unit = readonly [ms: number, sign: string];

function two(ms: number, [large, sign]: Unit, [small, rest]: Unit): string {
	const left = Math.floor((ms % large) / small);
	return `${Math.floor(ms / large)}${sign}${left === 0 ? '' : ` ${left}${rest}`}`;
}

/** The same in at most four characters, for a narrow column: `12ms`, `3s`, `5m`, `2h`, `9d`. */
export function shortDuration(ms: number): string {
	if (ms < SECOND - 0.5) return `${Math.max(0, Math.round(ms))}ms`;
	const whole = Math.round(ms / SECOND) * SECOND;
	if (whole < MINUTE) return `${whole / SECOND}s`;
	if (whole < HOUR) return `${Math.floor(whole / MINUTE)}m`;
	if (whole < DAY) return `${Math.floor(whole / HOUR)}h`;
	return `${Math.floor(whole / DAY)}d`;
}

/** A number of things: `1 reader`, `2 readers`. */
export function formatCount(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
