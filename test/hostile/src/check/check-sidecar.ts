import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';

import { BackendSource, createLocalBackend } from '@spock/discovery';

import { chunksOf, type FuzzCase } from '../generate/stream.ts';
import { isFunc, judgeData } from '../reference/read-data.ts';
import { expectClientMessage } from '../reference/read-message.ts';
import { type Found, splitStream } from '../reference/split-stream.ts';
import type { Subject, SubjectSidecar } from '../subject.ts';
import { isSame } from './is-same.ts';
import { type Problem, show } from './problem.ts';

const BAD_FRAMES_MAX = 16;
/** The shortest limit that either side may set, and what stands about the data of an answer. */
const FRAME_BYTES_LEAST = 1024;
const ANSWER_HEAD_BYTES = 32;
const REGISTRY = {
	services: { barista: [{ host: '10.0.0.1', port: 8765 }], waiter: [{ host: '10.0.0.2', port: 1 }] },
	keys: { 'app/limits': '{"max":5}', 'app/a': '1' },
};

let directory: string | undefined;
let sockets = 0;

/** Where all sidecars of this process listen, each under a number of its own. */
function socketDirectory(): string {
	if (directory === undefined) {
		const made = mkdtempSync('/tmp/spock-fuzz-');
		process.once('exit', () => rmSync(made, { recursive: true, force: true }));
		directory = made;
	}
	return directory;
}

/** What must be answered to one frame: a code, data, or anything that the function may say. */
interface Expected {
	readonly id: number | null;
	readonly frame: string;
	readonly code?: string;
	readonly data?: unknown;
}
interface Conversation {
	readonly expected: readonly Expected[];
	/** What was in flight under these ids may be left unanswered. */
	readonly cancelled: ReadonlySet<number>;
	/** The sidecar closed the connection for what it was sent: what was in flight is left unanswered. */
	readonly isClosed: boolean;
	/** Greetings in their order: after its answer a hello bounds what the sidecar sends. */
	readonly hellos: readonly { readonly id: number; readonly frameBytesMax?: number }[];
}
interface Answer {
	readonly id?: number | null;
	readonly event?: string;
	readonly data?: unknown;
	readonly error?: { readonly code: string };
}

/**
 * Sends a whole case to a sidecar in this process, ends its side, and looks at all that comes until the sidecar's end. Each
 * case has a sidecar of its own, because a sidecar remembers requests: so a case fails alone as it failed among others.
 */
export async function checkSidecar(
	{ stream, cuts, frameBytesMax }: FuzzCase,
	{ startSidecar, connectionEndMsMax }: Pick<Subject, 'startSidecar' | 'connectionEndMsMax'>,
): Promise<Problem | undefined> {
	// The shortest limit that there is; the decoder's own check has shorter ones.
	if (frameBytesMax < FRAME_BYTES_LEAST) return undefined;
	const faults: string[] = [];
	const sidecar = await startSidecar({
		path: `${socketDirectory()}/${++sockets}`,
		source: new BackendSource({ backend: await createLocalBackend(REGISTRY) }),
		limits: { frameBytesMax, graceMs: 0, drainTimeoutMs: 0 },
		observer: { fault: (func, error) => faults.push(`${func}: ${show(error)}`) },
	});
	try {
		const output = await converse(sidecar.connect(), chunksOf(stream, cuts), connectionEndMsMax);
		if (output === undefined) {
			return { check: 'sidecar ends', found: `the connection was open after ${connectionEndMsMax} ms` };
		}
		const [fault] = faults;
		if (fault !== undefined) return { check: 'sidecar fault', found: fault };
		return compareOutput(output, stream, frameBytesMax);
	} finally {
		await sidecar.stop();
	}
}

function compareOutput(output: Buffer, stream: Buffer, frameBytesMax: number): Problem | undefined {
	const answers: Answer[] = [];
	const conversation = expectAnswers(splitStream(stream, frameBytesMax));
	const hellos = [...conversation.hellos];
	let longest = frameBytesMax;
	for (const found of splitStream(output, frameBytesMax)) {
		if ('fault' in found) return { check: 'sidecar frames', found: show(found) };
		const answer = JSON.parse(found.frame) as Answer;
		answers.push(answer);
		// One before it may have been refused, because its id was in flight.
		const at = isGreeting(answer) ? hellos.findIndex(({ id }) => id === answer.id) : -1;
		const [hello] = hellos.slice(at, at + 1);
		if (at !== -1 && hello !== undefined) {
			longest = Math.min(frameBytesMax, hello.frameBytesMax ?? frameBytesMax);
			hellos.splice(0, at + 1);
		}
		const frameBytes = Buffer.byteLength(found.frame);
		if (frameBytes > longest)
			return { check: 'sidecar frames', found: `${frameBytes} bytes of at most ${longest}: ${found.frame}` };
	}
	return compare(conversation, answers);
}

async function converse(
	{ input, output }: ReturnType<SubjectSidecar['connect']>,
	chunks: readonly Buffer[],
	endMsMax: number,
): Promise<Buffer | undefined> {
	const answered: Buffer[] = [];
	output.on('data', (chunk) => answered.push(chunk));
	// A sidecar that has closed for what it was sent reads no more of it: what it said before counts.
	input.on('error', () => undefined);
	const closed = once(output, 'close');
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<'late'>((resolve) => {
		timer = setTimeout(resolve, endMsMax, 'late');
	});
	for (const chunk of chunks) input.write(chunk);
	input.end();
	const end = await Promise.race([closed, late]);
	clearTimeout(timer);
	input.destroy();
	output.destroy();
	return end === 'late' ? undefined : Buffer.concat(answered);
}

function isGreeting({ data }: Answer): boolean {
	return (data as { version?: unknown } | null | undefined)?.version === 1;
}

/** What docs/PROTOCOL.md has a sidecar answer to these frames, in their order; after what closes the connection nothing. */
function expectAnswers(frames: readonly Found[]): Conversation {
	const expected: Expected[] = [];
	const cancelled = new Set<number>();
	const hellos: { id: number; frameBytesMax?: number }[] = [];
	let badInARow = 0;
	let isClosed = false;
	for (const found of frames) {
		if ('fault' in found) {
			expected.push({ id: null, frame: '', code: found.fault });
			isClosed = found.fault === 'FRAME_TOO_LARGE' || ++badInARow === BAD_FRAMES_MAX;
			if (isClosed) break;
			continue;
		}
		const { frame } = found;
		const message = expectClientMessage(frame);
		badInARow = message.kind === 'fault' && message.code === 'BAD_FRAME' ? badInARow + 1 : 0;
		if (message.kind === 'fault') expected.push({ id: message.id, frame, code: message.code });
		else if (message.kind === 'notice') {
			const id = (message.data as { id?: unknown } | null)?.id;
			if (message.func !== 'cancel') expected.push({ id: null, frame, code: 'UNKNOWN_FUNC' });
			else if (typeof id === 'number') cancelled.add(id);
			// Nothing but events could follow.
			isClosed = message.func === 'uplink';
			if (isClosed) break;
		} else if (message.kind === 'request') {
			const { id, func, data } = message;
			const judged = isFunc(func) ? judgeData(func, data) : undefined;
			if (judged === undefined) expected.push({ id, frame, code: 'UNKNOWN_FUNC' });
			else if (judged.wrong.length > 0) expected.push({ id, frame, code: 'BAD_REQUEST' });
			else if (func === 'ping') expected.push({ id, frame, data: JSON.parse(JSON.stringify(data)) });
			else expected.push({ id, frame });
			if (func === 'hello' && judged?.wrong.length === 0) {
				const { versions, frameBytesMax } = judged.value as { versions: number[]; frameBytesMax?: number };
				if (versions.includes(1)) hellos.push({ id, ...(frameBytesMax !== undefined && { frameBytesMax }) });
			}
		}
		isClosed = badInARow === BAD_FRAMES_MAX;
		if (isClosed) break;
	}
	return { expected, cancelled, isClosed, hellos };
}

/** Each expected answer takes the first that fits; what asks for most chooses first. */
function compare({ expected, cancelled, isClosed }: Conversation, answers: readonly Answer[]): Problem | undefined {
	const left = answers.filter(({ event }) => event === undefined);
	const isExact = (one: Expected): boolean => one.code !== undefined || 'data' in one;
	// An id that is in flight is refused: only where the same id is asked for twice.
	const twice = new Set(
		expected.map(({ id }) => id).filter((id, index, ids) => id !== null && ids.indexOf(id) !== index),
	);
	for (const one of [...expected.filter(isExact), ...expected.filter((other) => !isExact(other))]) {
		const mayBeRefused = one.id !== null && twice.has(one.id);
		let at = left.findIndex((answer) => fits(one, answer));
		if (at === -1 && mayBeRefused)
			at = left.findIndex(({ id, error }) => id === one.id && error?.code === 'BAD_REQUEST');
		if (at !== -1) left.splice(at, 1);
		else if (isExact(one) || !(isClosed || cancelled.has(one.id as number))) {
			return {
				check: 'sidecar answers',
				found: `no ${show(one)} among ${show(left.filter(({ id }) => id === one.id))}`,
			};
		}
	}
	return left.length === 0 ? undefined : { check: 'sidecar says more', found: show(left) };
}

function fits(expected: Expected, { id, data, error }: Answer): boolean {
	if (id !== expected.id) return false;
	if (expected.code !== undefined) return error?.code === expected.code;
	if ('data' in expected) {
		const isLong = Buffer.byteLength(JSON.stringify(expected.data)) > FRAME_BYTES_LEAST - ANSWER_HEAD_BYTES;
		return error === undefined ? isSame(data, expected.data) : isLong && error.code === 'FRAME_TOO_LARGE';
	}
	return error?.code !== 'BAD_FRAME' && error?.code !== 'INTERNAL';
}
