import assert from 'node:assert/strict';

import type { ServiceInstance, ServiceQuery } from '@spock/protocol';

import { type Cases, recordWatch, until } from './bench.ts';

const MANY = 50;
const barista = { service: 'barista' };
/** What no instance of these cases meets. */
const CONDITIONS: readonly Partial<ServiceQuery>[] = [
	{ tags: ['unheard-of'] },
	{ datacenter: 'unheard-of' },
	{ meta: { colour: 'unheard-of' } },
	{ peer: 'unheard-of' },
];
const at = (port: number): { host: string; port: number } => ({ host: '10.0.0.1', port });

/** What a watch promises while the registry is well. */
export const watchCases: Cases = {
	'a watch tells every instance of a service, whole, frozen and sorted by its name': async (bench) => {
		await bench.setService('barista', [at(82), at(80), at(81)]);
		const watch = recordWatch(bench, barista);
		await watch.shows('10.0.0.1:80', '10.0.0.1:81', '10.0.0.1:82');
		const instances = watch.answers.at(-1) as readonly ServiceInstance[];
		assert.ok(Object.isFrozen(instances), 'the list must be frozen: readers share it');
		const names = instances.map(({ instance }) => instance);
		assert.deepEqual(names, [...new Set(names)].sort(), 'names must be unique and sorted');
		for (const instance of instances) assertWhole(instance);
	},

	'a service that nobody has registered is an empty answer and no failure': async (bench) => {
		const watch = recordWatch(bench, { service: 'nobody' });
		await watch.shows();
		assert.deepEqual(watch.errors, []);
	},

	'a watch tells that instances have come and gone, also the last one, and also that it is back': async (bench) => {
		await bench.setService('barista', [at(80)]);
		const watch = recordWatch(bench, barista);
		await watch.shows('10.0.0.1:80');
		await bench.setService('barista', [at(80), at(81)]);
		await watch.shows('10.0.0.1:80', '10.0.0.1:81');
		await bench.setService('barista', [at(81)]);
		await watch.shows('10.0.0.1:81');
		await bench.setService('barista', []);
		await watch.shows();
		await bench.setService('barista', [at(82)]);
		await watch.shows('10.0.0.1:82');
		assert.deepEqual(watch.errors, []);
	},

	'a watch of a service that is registered later tells it then': async (bench) => {
		const watch = recordWatch(bench, barista);
		await watch.shows();
		await bench.setService('barista', [at(80)]);
		await watch.shows('10.0.0.1:80');
	},

	'a list that was told is never changed afterwards': async (bench) => {
		await bench.setService('barista', [at(80)]);
		const watch = recordWatch(bench, barista);
		await watch.shows('10.0.0.1:80');
		const before = structuredClone(watch.answers);
		const kept = [...watch.answers];
		await bench.setService('barista', [at(81)]);
		await watch.shows('10.0.0.1:81');
		assert.deepEqual(kept, before);
	},

	'a watch tells of its own service only': async (bench) => {
		await bench.setService('barista', [at(80)]);
		await bench.setService('waiter', [at(90)]);
		const first = recordWatch(bench, barista);
		const second = recordWatch(bench, { service: 'waiter' });
		await first.shows('10.0.0.1:80');
		await second.shows('10.0.0.1:90');
		await bench.setService('waiter', [at(91)]);
		await second.shows('10.0.0.1:91');
		for (const answer of first.answers)
			assert.deepEqual(
				answer.map(({ port }) => port),
				[80],
			);
	},

	'what does not meet the conditions of a query is never its answer: they are honoured, or refused': async (bench) => {
		await bench.setService('barista', [at(80)]);
		await recordWatch(bench, barista).shows('10.0.0.1:80');
		for (const condition of CONDITIONS) {
			const watch = recordWatch(bench, { ...barista, ...condition });
			await until(bench, `a word on ${JSON.stringify(condition)}`, () => watch.told > 0);
			assert.deepEqual(watch.answers.flat(), [], `an answer that does not meet ${JSON.stringify(condition)}`);
			watch.stop();
		}
	},

	'two watches of one query are independent: after one is stopped it hears nothing, and the other everything': async (
		bench,
	) => {
		await bench.setService('barista', [at(80)]);
		const stopped = recordWatch(bench, barista);
		const other = recordWatch(bench, barista);
		await stopped.shows('10.0.0.1:80');
		await other.shows('10.0.0.1:80');
		stopped.stop();
		stopped.stop();
		const { told } = stopped;
		await bench.setService('barista', [at(81)]);
		await other.shows('10.0.0.1:81');
		assert.equal(stopped.told, told);
	},

	'a watch may be stopped before its first answer': async (bench) => {
		await bench.setService('barista', [at(80)]);
		const stopped = recordWatch(bench, barista);
		stopped.stop();
		const { told } = stopped;
		await recordWatch(bench, barista).shows('10.0.0.1:80');
		assert.equal(stopped.told, told);
	},

	[`${MANY} services are watched at once`]: async (bench) => {
		const services = Array.from({ length: MANY }, (_, number) => ({ service: `many-${number}`, port: 1000 + number }));
		for (const { service, port } of services) await bench.setService(service, [at(port)]);
		const watches = services.map(({ service, port }) => ({ port, watch: recordWatch(bench, { service }) }));
		await until(bench, 'every service', () =>
			watches.every(({ port, watch }) => watch.places()?.[0] === `10.0.0.1:${port}`),
		);
	},
};

function assertWhole(instance: ServiceInstance): void {
	const { host, port, weight, status, tags, meta, zone, datacenter } = instance;
	assert.ok(typeof instance.instance === 'string' && instance.instance !== '', 'instance must be a name');
	assert.ok(typeof host === 'string' && host !== '', 'host must be an address or a name');
	assert.ok(Number.isInteger(port) && port >= 0 && port <= 65_535, 'port must be a port');
	assert.ok(Number.isFinite(weight) && weight >= 0, 'weight must be at least 0');
	assert.equal(status, 'passing');
	assert.ok(Array.isArray(tags), 'tags must be an array');
	assert.ok(typeof meta === 'object' && meta !== null, 'meta must be an object');
	assert.ok(zone === null || typeof zone === 'string', 'zone must be a string or null');
	assert.ok(datacenter === null || typeof datacenter === 'string', 'datacenter must be a string or null');
}
