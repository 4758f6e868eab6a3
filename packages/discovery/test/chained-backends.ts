import type { ServiceInstance, ServiceQuery } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import { chainBackend } from '../src/backends/chain/chain-backend.ts';
import { instance } from './fake-backend-source.ts';
import { ScriptedBackend } from './scripted-backend.ts';

/** An instance that the first knows. */
export const A: ServiceInstance = instance('a');
/** An instance that the second knows. */
export const B: ServiceInstance = instance('b');
/** The question of most tests. */
export const barista: ServiceQuery = { service: 'barista' };

/** Two backends whose words the test says, their chain, and what a watch of it was told. */
export interface Chained {
	clock: FakeClock;
	first: ScriptedBackend;
	second: ScriptedBackend;
	chain: ReturnType<typeof chainBackend>;
	told: string[];
	/** Of each answer of the watch. */
	ages: (number | undefined)[];
	watch: () => { stop(): void };
}

export function chained(): Chained {
	const clock = new FakeClock();
	const first = new ScriptedBackend('consul', [{ name: 'barista', tags: ['v1'] }]);
	const second = new ScriptedBackend('local', [
		{ name: 'barista', tags: ['v2'] },
		{ name: 'aida', tags: [] },
	]);
	const chain = chainBackend({ backends: [first, second], clock });
	const told: string[] = [];
	const ages: (number | undefined)[] = [];
	const watch = (): { stop(): void } =>
		chain.watch(barista, {
			answered: (instances, meta) => {
				told.push(instances.map((one) => one.instance).join() || '-');
				ages.push(meta?.ageMs);
			},
			failed: (error) => told.push(`!${error.message}`),
		});
	return { clock, first, second, chain, told, ages, watch };
}
