import { failed, type ScenarioResult } from './rolling-results.ts';
import { WAYS } from './ways/ways.ts';

/** A machine that cannot keep the pace tells nothing of a restart: a sentence for each client that fell behind. */
export function fallenBehind(scenarios: readonly ScenarioResult[]): readonly string[] {
	return scenarios.flatMap(({ rate, ways }) =>
		ways
			.filter(({ turnedAway }) => turnedAway > 0)
			.map(({ way, turnedAway }) => `too busy a machine for ${rate} requests a second: ${way} left out ${turnedAway}`),
	);
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
