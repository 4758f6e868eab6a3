import { failed, type ScenarioResult } from './rolling-results.ts';
import { WAYS } from './ways/ways.ts';

/** A median beyond this, and the work, in milliseconds, is that of a machine on which requests wait for a processor. */
const MEDIAN_MS_MAX = 50;

/** A machine that cannot keep the pace tells nothing of a restart: a sentence for each client that fell behind. */
export function fallenBehind({ rate, workMs, ways }: ScenarioResult): readonly string[] {
	return ways
		.filter(({ turnedAway, p50Ms }) => turnedAway > 0 || p50Ms > MEDIAN_MS_MAX + workMs)
		.map(({ way, turnedAway, p50Ms }) => {
			const how = `${turnedAway} requests left out, median ${Math.round(p50Ms)} ms`;
			return `the machine is too busy for ${rate} requests a second by ${way}: ${how}`;
		});
}

/** That no way of Spock fails a request is what is measured for: a sentence for each that did. */
export function brokenPromises(scenarios: readonly ScenarioResult[]): readonly string[] {
	return scenarios.flatMap(({ order, preStopMs, ways }) =>
		ways
			.filter((result) => !WAYS[result.way].mayFail && failed(result) > 0)
			.map((result) => {
				const { way, requests, failures, examples } = result;
				const what = `${failed(result)} of ${requests} requests of ${way} failed (${order}, preStop ${preStopMs} ms)`;
				return [`${what}: ${JSON.stringify(failures)}`, ...examples].join('\n  ');
			}),
	);
}
