// Four ways to call five employees, in one run: whom the requests reach and how long they take; then one employee is killed and
// one added amid the load. `npm run bench grpc` makes tables and plots of it.
//   node examples/employer-employee/load.js [--requests 5000] [--in-flight 100] [--work-ms 5] [--notice-ms 200] [--json FILE] [--way resolver …]
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { changeOf, figuresOf } from './figures.js';
import { load } from './http-load.js';
import { Staff } from './staff.js';
import { checkWay, ways } from './ways.js';

const { values } = parseArgs({
	options: {
		requests: { type: 'string', default: '5000' },
		'in-flight': { type: 'string', default: '100' },
		/** How long an employee works at one task; it does one at a time. */
		'work-ms': { type: 'string', default: '5' },
		/** How long the registry takes to notice that one was killed. */
		'notice-ms': { type: 'string', default: '200' },
		employees: { type: 'string', default: '5' },
		json: { type: 'string' },
		/** One way alone; may be given again. Default: all. */
		way: { type: 'string', multiple: true, default: Object.keys(ways) },
	},
});
const number = (name) => Number(values[name]);
const [requests, inFlight, workMs, noticeMs] = ['requests', 'in-flight', 'work-ms', 'notice-ms'].map(number);
/** Replies that come after a change, at least: enough to judge the shares by. */
const afterChange = Math.max(300, requests / 5);

const chosen = values.way.map(checkWay);
const staff = new Staff();
await staff.open();
let hired = 0;
const hire = () => staff.hire(`employee-${++hired}`, workMs);
let employees = await Promise.all(Array.from({ length: number('employees') }, hire));
const namesOf = (all) => all.map(({ name }) => name);

/** One way: the load on all, and the load with a change in it. */
async function measure(way) {
	staff.register(employees);
	const employer = await staff.employ(way);
	const { port } = employer;
	await warm(port);
	const steady = await load({ port, inFlight, isOver: ({ length }) => length > requests - inFlight });
	const figures = figuresOf(steady, namesOf(employees));
	const spare = await hire();
	// The first one is whom the single channel has chosen.
	const [killed, ...others] = employees;
	employees = [...others, spare];
	const told = { atMs: Number.POSITIVE_INFINITY, replies: Number.POSITIVE_INFINITY };
	const change = async (samples) => {
		await staff.stop(killed, 'SIGKILL');
		await delay(noticeMs);
		staff.register(employees);
		Object.assign(told, { atMs: performance.now(), replies: samples.length });
	};
	let changed;
	const isOver = (samples) => {
		if (samples.length >= requests / 4) changed ??= change(samples);
		// However fast it is, enough of it comes after the change.
		return samples.length > requests - inFlight && samples.length >= told.replies + afterChange;
	};
	const shaken = await load({ port, inFlight, isOver });
	await changed;
	await staff.stop(employer, 'SIGTERM');
	return { way, ...figures, change: changeOf(shaken, namesOf(employees), told.atMs) };
}

/** Until the registry's file was read and a first request done, and every connection is there. */
async function warm(port) {
	for (let turn = 0; turn < 100; turn++) {
		const samples = await load({ port, inFlight, isOver: ({ length }) => length >= 200 });
		if (samples.every(({ employee }) => employee !== undefined)) return;
		await delay(50);
	}
	throw new Error('the employer does not get its work done');
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;
const ms = (value) => (value === null ? 'never' : `${value.toFixed(value < 100 ? 1 : 0)} ms`);

const results = [];
try {
	for (const way of chosen) {
		const result = await measure(way);
		results.push(result);
		const { shares, latencyMs, failed, requestsPerSecond, change } = result;
		console.log(`${way}: ${Math.round(requestsPerSecond)} requests a second, ${failed} failed`);
		console.log(`  shares   ${shares.map(percent).join('  ')}`);
		console.log(
			`  latency  ${Object.entries(latencyMs)
				.map(([name, value]) => `${name} ${ms(value)}`)
				.join('  ')}`,
		);
		console.log(`  change   ${change.failed} of ${change.requests} failed, even after ${ms(change.evenAfterMs)}`);
	}
} finally {
	await staff.close();
}
const settings = { requests, inFlight, workMs, noticeMs, employees: employees.length };
if (values.json !== undefined)
	writeFileSync(values.json, `${JSON.stringify({ settings, ways: results }, null, '\t')}\n`);
