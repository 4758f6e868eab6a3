import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Duplex } from 'node:stream';

import {
	createDiplomat,
	type Diplomat,
	type FaultMessage,
	type Registration,
	type ServiceSnapshot,
	SpockError,
} from '@spock/client';
import { FakeClock } from '@spock/testkit';

import { chunksOf, type FuzzCase } from '../generate/stream.ts';
import { type Problem, show } from './problem.ts';

const GREETING = {
	version: 1,
	sidecar: 'hostile/1',
	instance: 'u',
	features: ['push', 'goaway'],
	limits: { frameBytesMax: 1 << 20, inFlightMax: 65_536 },
};
const STATUSES = ['passing', 'warning', 'critical', 'maintenance'];

/** The sidecar's end of a connection, in memory and at once: what the client writes is kept, what is said it gets now. */
class HostileEnd extends Duplex {
	readonly say: (chunk: Buffer) => void;
	written = '';

	constructor(receive: (chunk: Buffer) => void) {
		super();
		this.say = (chunk) => {
			if (!this.destroyed) receive(chunk);
		};
	}

	override _read(): void {
		// What is said is given to the client directly.
	}

	override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
		this.written += chunk.toString();
		done();
	}

	/** The ids of the requests for a function that were written. */
	idsOf(func: string): number[] {
		return [...this.written.matchAll(/^\{"id":(\d+),"func":"(\w+)"/gm)].flatMap(([, id, name]) =>
			name === func ? [Number(id)] : [],
		);
	}
}

/**
 * A whole Diplomat whose sidecar says what the case says, while calls of every kind wait and services are watched. Nothing
 * may throw, what callers and observers get is whole, and a good sidecar is understood afterwards.
 */
export async function checkClient(fuzzCase: FuzzCase): Promise<Problem | undefined> {
	// Of every other case the stream holds the greeting too, or what is taken for it.
	const problem = fuzzCase.stream.length % 2 === 0 ? undefined : await tell(fuzzCase, '');
	return problem ?? tell(fuzzCase, `{"id":1,"data":${JSON.stringify(GREETING)}}\n`);
}

async function tell({ stream, cuts }: FuzzCase, greeting: string): Promise<Problem | undefined> {
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
		for (const chunk of chunksOf(stream, cuts)) ends.at(0)?.say(chunk);
		ends.at(0)?.say(Buffer.from('\n'));
		await turn();
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

function note(wrong: string[], what: string, look: () => string | undefined): void {
	try {
		const found = look();
		if (found !== undefined) wrong.push(`${what}: ${found}`);
	} catch (error) {
		wrong.push(`${what} throws ${show(error)}`);
	}
}

/** A failure that a sidecar sends may have any code; one of our own that hides an exception is a bug. */
function noteError(wrong: string[], what: string, error: unknown): void {
	if (!SpockError.is(error)) wrong.push(`${what} rejects with ${show(error)}`);
	else if (error.code === 'INTERNAL' && error.cause !== undefined) wrong.push(`${what} hides ${show(error.cause)}`);
}

function wrongRegistration({ id, service, state, instance, error }: Registration): string | undefined {
	return [id, service].every((text) => typeof text === 'string') &&
		['registered', 'pending', 'deregistered', 'draining'].includes(state) &&
		isTextOrNull(instance) &&
		isTextOrNull(error)
		? undefined
		: show({ id, service, state, instance, error });
}

function wrongPlace(place: { host: unknown; port: unknown; instance: unknown; ageMs?: unknown }): string | undefined {
	const { host, port, instance, ageMs = 0 } = place;
	const isWhole = Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535;
	return typeof host === 'string' && host !== '' && isWhole && typeof instance === 'string' && isFrom0(ageMs)
		? undefined
		: show(place);
}

function wrongSnapshot({
	instances,
	revision,
	ageMs,
	verifiedAt,
	tags = [],
	meta = {},
}: ServiceSnapshot): string | undefined {
	if (!Number.isFinite(revision) || !isFrom0(ageMs) || !isFrom0(verifiedAt))
		return show({ revision, ageMs, verifiedAt });
	if (!isTexts(tags) || !isTexts(Object.values(meta))) return show({ tags, meta });
	const wrong = instances.find(
		(instance) =>
			wrongPlace(instance) !== undefined ||
			!isFrom0(instance.weight) ||
			!STATUSES.includes(instance.status) ||
			!isTexts(instance.tags) ||
			!isTexts(Object.values(instance.meta)) ||
			!isTextOrNull(instance.zone) ||
			!isTextOrNull(instance.datacenter),
	);
	return wrong === undefined ? undefined : show(wrong);
}

const isFrom0 = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Lets everything that can go on without time go on. */
function turn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
