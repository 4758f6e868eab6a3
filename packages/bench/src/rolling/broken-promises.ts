import { failed, type ScenarioResult } from './rolling-results.ts';
import { WAYS } from './ways/ways.ts';

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
