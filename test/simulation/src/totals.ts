import type { SeedResult } from './run-seed.ts';

/** What many seeds come to. */
export interface Totals {
	seeds: number;
	events: number;
	virtualMs: number;
	calls: number;
	checked: number;
	faults: number;
	vanished: number;
	full: number;
	lost: number;
	hung: number;
	misdelivered: number;
	failed: number;
}

/** Nothing yet. */
export function noTotals(): Totals {
	return {
		seeds: 0,
		events: 0,
		virtualMs: 0,
		calls: 0,
		checked: 0,
		faults: 0,
		vanished: 0,
		full: 0,
		lost: 0,
		hung: 0,
		misdelivered: 0,
		failed: 0,
	};
}

/** Adds one seed. */
export function addTo(totals: Totals, { events, virtualMs, counts, violation }: SeedResult): void {
	totals.seeds++;
	totals.events += events;
	totals.virtualMs += virtualMs;
	totals.calls += counts.calls;
	totals.checked += counts.checked;
	totals.faults += counts.faults;
	totals.vanished += counts.vanished;
	totals.full += counts.full;
	totals.lost += counts.lost;
	totals.hung += counts.hung;
	totals.misdelivered += counts.misdelivered;
	if (violation !== undefined) totals.failed++;
}

/** One line for people. */
export function describeTotals(totals: Totals, elapsedMs: number): string {
	const { seeds, events, virtualMs, calls, checked, faults, vanished, full, lost, hung, misdelivered, failed } = totals;
	return [
		`${seeds} seeds`,
		`${events} events`,
		`${Math.round(virtualMs / 1000)} virtual seconds`,
		`${calls} calls`,
		`${checked} answers checked`,
		`${faults} faults`,
		`${vanished} machines vanished`,
		`${full} times a log was full`,
		`${lost} lost`,
		`${hung} hung`,
		`${misdelivered} misdelivered`,
		`${failed} failed`,
		`${(elapsedMs / 1000).toFixed(1)} s`,
	].join(', ');
}
