import {
	type EventData,
	encodeCancel,
	encodeEvent,
	encodeEventLine,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	encodeRequest,
	encodeRequestTail,
	encodeTrace,
	FrameDecoder,
	type FuncName,
	readClientMessage,
	readSidecarMessage,
	readUplinkFrame,
	SpockError,
	type TraceContext,
	validateFuncData,
	type WireError,
} from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { loadVectors } from './load-vectors.ts';

interface MessageCase {
	readonly rule: string;
	readonly frame: string;
	readonly message: Record<string, unknown> & { readonly path?: string };
}

type Found = { readonly frame: string } | { readonly fault: string };

function decode(chunks: readonly Buffer[], frameBytesMax?: number): Found[] {
	const found: Found[] = [];
	const decoder = new FrameDecoder(
		{ frame: (frame) => found.push({ frame }), fault: (fault) => found.push({ fault }) },
		frameBytesMax === undefined ? {} : { frameBytesMax },
	);
	for (const chunk of chunks) decoder.push(chunk);
	return found;
}

describe('vectors: frames', () => {
	for (const { rule, bytes, found, frameBytesMax } of loadVectors<{
		rule: string;
		bytes: string;
		found: Found[];
		frameBytesMax?: number;
	}>('frames')) {
		const stream = Buffer.from(bytes, 'base64');
		it(rule, () => {
			expect(decode([stream], frameBytesMax)).toEqual(found);
		});
		it(`${rule}, cut in two at every byte, and byte by byte`, () => {
			for (let cut = 0; cut <= stream.length; cut++) {
				expect(decode([stream.subarray(0, cut), stream.subarray(cut)], frameBytesMax)).toEqual(found);
			}
			expect(
				decode(
					[...stream].map((byte) => Buffer.from([byte])),
					frameBytesMax,
				),
			).toEqual(found);
		});
	}
});

function compare(
	actual: ReturnType<typeof readClientMessage | typeof readSidecarMessage>,
	expected: MessageCase['message'],
): void {
	const { path, ...members } = expected;
	expect(actual).toMatchObject(members);
	if (path !== undefined) expect(actual).toMatchObject({ details: { path } });
	if (actual.kind === 'request') {
		expect(actual.timeoutMs).toBe(expected['timeoutMs']);
		expect(actual.trace).toEqual(expected['trace']);
	}
	if ('id' in actual && actual.id === 0) expect(Object.is(actual.id, 0)).toBe(true);
}

describe('vectors: what a sidecar reads', () => {
	for (const { rule, frame, message } of loadVectors<MessageCase>('client-messages')) {
		it(rule, () => compare(readClientMessage(frame), message));
	}
});

describe('vectors: what a client reads', () => {
	for (const { rule, frame, message } of loadVectors<MessageCase>('sidecar-messages')) {
		it(rule, () => compare(readSidecarMessage(frame), message));
	}
});

describe('vectors: data of functions', () => {
	for (const { rule, func, data, value, path } of loadVectors<{
		rule: string;
		func: FuncName;
		data: unknown;
		value?: unknown;
		path?: string;
	}>('func-data')) {
		it(`${func}: ${rule}`, () => {
			if (path === undefined) {
				expect(validateFuncData(func, data)).toEqual(value);
				return;
			}
			let thrown: unknown;
			try {
				validateFuncData(func, data);
			} catch (error) {
				thrown = error;
			}
			expect(SpockError.is(thrown, 'BAD_REQUEST')).toBe(true);
			expect((thrown as SpockError).details).toEqual({ path });
		});
	}
});

describe('vectors: encoding', () => {
	interface EncodeCase {
		readonly rule: string;
		readonly line: string;
		readonly request?: { id: number; func: string; data: unknown; timeoutMs?: number; trace?: TraceContext };
		readonly reply?: { id: number; data: unknown };
		readonly failure?: { id: number | null; error: WireError };
		readonly push?: { event: string; data: unknown };
		readonly cancel?: number;
	}
	function encode({ request, reply, failure, push, cancel }: EncodeCase): string {
		if (request !== undefined) {
			const trace = request.trace === undefined ? '' : encodeTrace(request.trace);
			const tail = encodeRequestTail(request.func, encodePayload(request.data), request.timeoutMs);
			return encodeRequest(request.id, trace + tail);
		}
		if (reply !== undefined) return encodeReply(reply.id, encodePayload(reply.data));
		if (failure !== undefined) return encodeFailure(failure.id, failure.error);
		if (push !== undefined) return encodePush(push.event, encodePayload(push.data));
		return encodeCancel(cancel as number);
	}
	for (const vector of loadVectors<EncodeCase>('encode')) {
		it(vector.rule, () => {
			expect(encode(vector)).toBe(vector.line);
			// What one side writes the other reads.
			const frame = vector.line.slice(0, -1);
			const read = vector.request !== undefined || vector.cancel !== undefined ? readClientMessage : readSidecarMessage;
			expect(read(frame).kind).not.toBe('fault');
		});
	}
});

describe('vectors: events', () => {
	type EventCase = { readonly rule: string } & (
		| { readonly frame: string; readonly read: object }
		| { readonly event: EventData; readonly text: string }
		| { readonly seq: number; readonly text: string; readonly line: string }
	);
	for (const vector of loadVectors<EventCase>('events')) {
		it(vector.rule, () => {
			if ('frame' in vector) expect(readUplinkFrame(vector.frame)).toMatchObject(vector.read);
			else if ('event' in vector) expect(encodeEvent(vector.event)).toBe(vector.text);
			else expect(encodeEventLine(vector.seq, vector.text)).toBe(vector.line);
		});
	}
});

describe('vectors: conversations', () => {
	it('every frame that a sidecar may send is read by a client', () => {
		const frames = loadVectors<{ steps: Record<string, unknown>[] }>('conversations')
			.flatMap(({ steps }) => steps)
			.flatMap((step) => ('<' in step ? [step['<']] : []));
		expect(frames.length).toBeGreaterThan(20);
		for (const frame of frames) expect(readSidecarMessage(JSON.stringify(frame)).kind).not.toBe('fault');
	});
});
