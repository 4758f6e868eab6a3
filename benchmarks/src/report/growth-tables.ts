import type { BenchResults } from '../results.ts';
import { formatCount, formatNumber, formatOptional, NOT_MEASURED } from './format-number.ts';
import { columnsOf, markdownTable } from './markdown.ts';

/** p99 and memory by number of connections. */
export function renderConnectionsTable(results: BenchResults): string {
	return table(
		1,
		['Connections', 'p50 µs', 'p99 µs', 'CPU µs', 'Sidecar KB each', 'Client KB each'],
		results.connections.map((figure) => [
			formatCount(figure.connections),
			...[figure.p50Us, figure.p99Us, figure.cpuUs].map(formatNumber),
			// The first connection is what the others are counted above.
			figure.connections === 1 ? '–' : formatOptional(figure.sidecarKbEach),
			figure.connections === 1 ? '–' : formatOptional(figure.clientKbEach),
		]),
	);
}

/** Calls a second and memory by number of calls in flight. */
export function renderInFlightTable(results: BenchResults): string {
	return table(
		1,
		['In flight', 'calls/s', 'p50 µs', 'p99 µs', 'Errors', 'Client RSS MB', 'Sidecar RSS MB'],
		results.inFlight.map((figure) => [
			formatCount(figure.inFlight),
			...[figure.callsPerSecond, figure.p50Us, figure.p99Us].map(formatNumber),
			formatCount(figure.errors),
			formatNumber(figure.clientRssMb),
			formatNumber(figure.serverRssMb),
		]),
	);
}

/** Memory and pushes by size of the registry. */
export function renderRegistryTable(results: BenchResults): string {
	return table(
		1,
		['Services × instances', 'Sidecar RSS MB', 'Client RSS MB', 'Push bytes', 'Push CPU µs'],
		results.registry.map((figure) => [
			`${formatCount(figure.services)} × ${formatCount(figure.instancesEach)}`,
			...[figure.sidecarRssMb, figure.clientRssMb].map(formatNumber),
			formatCount(figure.pushBytes),
			formatNumber(figure.pushCpuUs),
		]),
	);
}

/** The way of a change, by number of watching clients. */
export function renderWatchersTable(results: BenchResults): string {
	return table(
		1,
		['Watchers', 'Bare p50 ms', 'Bare p99 ms', 'Added p50 ms', 'Added p99 ms'],
		results.watchers.map((figure) => [
			formatCount(figure.watchers),
			...[figure.bareP50Ms, figure.bareP99Ms, figure.addedP50Ms, figure.addedP99Ms].map(formatNumber),
		]),
	);
}

/** A connection for each call. */
export function renderConnectPerCallTable(results: BenchResults): string {
	return table(
		2,
		['Contender', 'Transport', 'p50 µs', 'p99 µs', 'CPU µs'],
		results.connectPerCall.map((figure) => [
			figure.label,
			figure.transport === 'unix' ? 'unix socket' : 'TCP',
			...[figure.p50Us, figure.p99Us, figure.cpuUs].map(formatNumber),
		]),
	);
}

/** Lookups within the process. */
export function renderLookupsTable(results: BenchResults): string {
	return table(
		1,
		['Lookup', 'ns'],
		results.lookups.map((lookup) => [`\`${lookup.what}\``, formatNumber(lookup.ns)]),
	);
}

/** Events. */
export function renderEventsTable(results: BenchResults): string {
	return table(
		1,
		['Figure', 'Measured', 'Least'],
		(results.events ?? []).map(({ what, unit, value, floor }) => [
			what,
			`${formatNumber(value)} ${unit}`,
			floor === null ? '' : `${formatNumber(floor)} ${unit}`,
		]),
	);
}

/** Start-up of the sidecar and its commands. */
export function renderStartUpTable(results: BenchResults): string {
	return table(
		1,
		['Command', 'Wall ms', 'CPU ms'],
		results.startUp.map((figure) => [`\`${figure.what}\``, formatNumber(figure.wallMs), formatNumber(figure.cpuMs)]),
	);
}

function table(leftCount: number, headings: readonly string[], rows: readonly (readonly string[])[]): string {
	return rows.length === 0 ? `This was ${NOT_MEASURED}.` : markdownTable(columnsOf(leftCount, headings), rows);
}
