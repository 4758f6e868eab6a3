import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { type Diplomat, type FaultMessage, type Registration, SpockError } from '@spock/client';
import { FakeClock } from '@spock/testkit';

import { chunksOf, type FuzzCase } from '../generate/stream.ts';
import { expectSidecarMessage } from '../reference/read-message.ts';
import { splitStream } from '../reference/split-stream.ts';
import type { Subject } from '../subject.ts';
import { HostileEnd } from './hostile-end.ts';
import { isSame } from './is-same.ts';
import { isTexts, note, noteError, wrongPlace, wrongRegistration, wrongSnapshot } from './look-at-client.ts';
import { type Problem, show } from './problem.ts';

const GREETING = {
	version: 1,
	sidecar: 'hostile/1',
	instance: 'u',
	features: ['push', 'goaway'],
	limits: { frameBytesMax: 1 << 20, inFlightMax: 65_536 },
};
/**
 * A whole Diplomat whose sidecar says what the case says, while calls of every kind wait and services are watched. Nothing
 * may throw, what callers and observers get is whole, and a good sidecar is understood afterwards.
 */
export async function checkClient(
	fuzzCase: FuzzCase,
	{ createDiplomat }: Pick<Subject, 'createDiplomat'>,
): Promise<Problem | undefined> {
	// Of every other case the stream holds the greeting too, or what is taken for it.
	const problem = fuzzCase.stream.length % 2 === 0 ? undefined : await tell(fuzzCase, '', createDiplomat);
	return problem ?? tell(fuzzCase, `{"id":1,"data":${JSON.stringify(GREETING)}}\n`, createDiplomat);
}

async function tell(
	{ stream, cuts }: FuzzCase,
	greeting: string,
	createDiplomat: Subject['createDiplomat'],
): Promise<Problem | undefined> {
	const wrong: string[] = [];
	const ends: HostileEnd[] = [];
	const diplomat = createDiplomat({
		path: '/nowhere/hostile.sock',
		clock: new FakeClock(),
		random: () => 0.5,
		policy: 'weighted',
		transport: (_, receive) => {
			const end = new HostileEnd(receive);
			ends.push(end);
			return end;
		},
	});
	const hearFault = (message: unknown): void => {
		if ((message as FaultMessage).message === SpockError.from(undefined).message)
			wrong.push('an exception in reading a push');
	};
	subscribe('spock:client:fault', hearFault);
	try {
		void diplomat.ready().catch(() => undefined);
		await turn();
		ends[0]?.say(Buffer.from(greeting));
		makeCalls(diplomat, wrong);
		await turn();
		const raw = askRaw(diplomat);
		await turn();
		// Twice: what the first time brought about, a report, say, is in flight the second time.
		for (let round = 0; round < 2; round++) {
			for (const chunk of chunksOf(stream, cuts)) ends.at(0)?.say(chunk);
			ends.at(0)?.say(Buffer.from('\n'));
			await turn();
		}
		const [rawId] = ends.at(0)?.idsOf('status') ?? [];
		if ('value' in raw && !isToldIn(stream, rawId, raw.value)) wrong.push(`nobody replied ${show(raw.value)}`);
		if (diplomat.status().lastError === SpockError.from(undefined).message)
			wrong.push('an exception in reading a greeting');
		lookUp(diplomat, wrong);
		await askAgain(diplomat, ends, wrong);
	} catch (error) {
		wrong.push(`thrown: ${show(error)}`);
	}
	unsubscribe('spock:client:fault', hearFault);
	await diplomat.close();
	await turn();
	const [found] = wrong;
	return found === undefined ? undefined : { check: 'client', found };
}

/** One of each call, whose ids are the ones that streams use. */
function makeCalls(diplomat: Diplomat, wrong: string[]): void {
	const expect = (what: string, call: Promise<unknown>, look: (value: never) => string | undefined): void => {
		call.then(
			(value) => note(wrong, what, () => look(value as never)),
			(error: unknown) => noteError(wrong, what, error),
		);
	};
	for (const service of ['barista', 'waiter']) {
		void watch(diplomat, service, wrong);
		expect('getService', diplomat.getService(service), wrongPlace);
		expect('request getService', diplomat.request('getService', { service }), wrongPlace);
		expect('getInstances', diplomat.getInstances(service, { fresh: true }), wrongSnapshot);
	}
	expect('getKey', diplomat.getKey('app/limits'), () => undefined);
	expect('getKey of a prefix', diplomat.getKey({ key: 'app/', prefix: true }), () => undefined);
	expect('listServices', diplomat.listServices(), ({ services }: { services: { name: unknown; tags: unknown }[] }) =>
		services.every(({ name, tags }) => typeof name === 'string' && isTexts(tags)) ? undefined : show(services),
	);
	expect(
		'register',
		diplomat.register({ service: 'barista', port: 1, id: 'barista-1' }),
		(registration: Registration) => {
			expect('report', registration.report('warning'), () => wrongRegistration(registration));
			return wrongRegistration(registration);
		},
	);
	expect('explain', diplomat.explain('barista'), () => undefined);
	expect('ping', diplomat.ping(), (value) => (typeof value === 'number' ? undefined : show(value)));
}

/** A call whose reply is passed on as it is. */
function askRaw(diplomat: Diplomat): { value?: unknown } {
	const raw: { value?: unknown } = {};
	diplomat.request('status', null).then(
		(value) => {
			raw.value = value;
		},
		// The stream may hold a failure for it, or nothing.
		() => undefined,
	);
	return raw;
}

/** True if the stream holds a reply of this id and value. No id: the connection was ended before the request was written. */
function isToldIn(stream: Buffer, id: number | undefined, value: unknown): boolean {
	// As it was told: with an end to its last line.
	return splitStream(Buffer.concat([stream, Buffer.from('\n')]), 1 << 20).some((found) => {
		if ('fault' in found) return false;
		const message = expectSidecarMessage(found.frame);
		return message.kind === 'reply' && message.id === (id ?? message.id) && isSame(message.data, value);
	});
}

async function watch(diplomat: Diplomat, service: string, wrong: string[]): Promise<void> {
	try {
		for await (const snapshot of diplomat.watchService(service)) note(wrong, 'watch', () => wrongSnapshot(snapshot));
	} catch (error) {
		noteError(wrong, 'watch', error);
	}
}

function lookUp(diplomat: Diplomat, wrong: string[]): void {
	for (const service of ['barista', 'waiter']) {
		note(wrong, 'pick', () => {
			const address = diplomat.pick(service);
			return address === undefined ? undefined : wrongPlace(address);
		});
	}
	note(wrong, 'status', () => (typeof JSON.stringify(diplomat.status()) === 'string' ? undefined : 'not JSON'));
}

/** Whatever was said: a good sidecar is understood, on this connection or, where it was ended, on the next one. */
async function askAgain(diplomat: Diplomat, ends: readonly HostileEnd[], wrong: string[]): Promise<void> {
	if (diplomat.status().state !== 'ready') return;
	// A stream may have narrowed what may be in flight, and nothing of it is ever answered: a good sidecar says so again.
	for (const end of ends) end.say(Buffer.from('{"event":"window","data":{"inFlightMax":65536}}\n'));
	let answer: unknown;
	const asked = diplomat.request('ping', { again: true }, { timeoutMs: 60_000 }).then(
		(value) => {
			answer = value;
		},
		(error: unknown) => {
			answer = error;
		},
	);
	await turn();
	for (const end of ends) {
		const id = end.destroyed ? undefined : end.idsOf('ping').at(-1);
		if (id !== undefined) end.say(Buffer.from(`{"id":${id},"data":{"again":true}}\n`));
	}
	await turn();
	if (show(answer) === '{"again":true}') await asked;
	else if (!SpockError.is(answer, 'OVERLOADED') && !SpockError.is(answer, 'FRAME_TOO_LARGE')) {
		wrong.push(`a good reply after all that is ${show(answer)}`);
	}
}

/** Lets everything that can go on without time go on. */
function turn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
