import { type FuncName, ID_MAX, SpockError } from '@spock/protocol';

import type { Reader } from '../generate/stream.ts';
import { isFunc, judgeData } from '../reference/read-data.ts';
import {
	type ExpectedMessage,
	expectClientMessage,
	expectMessages,
	expectSidecarMessage,
	isWhole,
} from '../reference/read-message.ts';
import type { Subject } from '../subject.ts';
import { isSame } from './is-same.ts';
import { type Problem, show } from './problem.ts';

/** One message of so many is written again as well: that costs as much as everything else about a frame. */
const ENCODED_ONE_IN = 4;

/** One frame of so many is read by the other side too, which such frames do not go to. */
const READ_BY_BOTH_ONE_IN = 4;

/** One frame as its reader reads it, and now and then the other side, and back through the encoder. */
export function checkMessages(frame: string, reader: Reader, subject: Subject): Problem | undefined {
	const { bySidecar, byClient } = expectMessages(frame);
	const isEncoded = frame.length % ENCODED_ONE_IN === 0;
	const isReadByBoth = frame.length % READ_BY_BOTH_ONE_IN === 1;
	return (
		(reader === 'sidecar' || isReadByBoth
			? compare('readClientMessage', () => subject.readClientMessage(frame), bySidecar)
			: undefined) ??
		(reader === 'client' || isReadByBoth
			? compare('readSidecarMessage', () => subject.readSidecarMessage(frame), byClient)
			: undefined) ??
		(bySidecar.kind === 'request' && isFunc(bySidecar.func)
			? checkData(bySidecar.func, bySidecar.data, subject)
			: undefined) ??
		(isEncoded ? (checkEncoder(bySidecar, subject) ?? checkEncoder(byClient, subject)) : undefined)
	);
}

function compare(
	check: 'readClientMessage' | 'readSidecarMessage',
	read: () => unknown,
	expected: ExpectedMessage,
): Problem | undefined {
	let found: unknown;
	try {
		found = read();
	} catch (error) {
		return { check: `${check} throws`, found: show(error) };
	}
	return isExpected(found as Record<string, unknown>, expected)
		? undefined
		: { check, found: `${show(found)} and not ${show(expected)}` };
}

/** Of a fault the sentence is free, and the path is all that its details say. */
function isExpected(found: Record<string, unknown>, expected: ExpectedMessage): boolean {
	if (expected.kind !== 'fault') return isSame(found, expected);
	const { kind, id, code, message, details } = found;
	const wanted = expected.path === undefined ? {} : { path: expected.path };
	return (
		kind === 'fault' &&
		Object.is(id, expected.id) &&
		code === expected.code &&
		typeof message === 'string' &&
		isSame(details, wanted)
	);
}

function checkData(func: string, data: unknown, { validateFuncData }: Subject): Problem | undefined {
	const { wrong, value } = judgeData(func, data);
	const differ = (found: string): Problem => ({ check: 'validateFuncData', found: `${func}: ${found}` });
	let found: unknown;
	try {
		found = validateFuncData(func as FuncName, data);
	} catch (error) {
		const path = SpockError.is(error, 'BAD_REQUEST') ? error.details['path'] : undefined;
		if (typeof path === 'string' && wrong.includes(path)) return undefined;
		return differ(`${show(error)} with the path ${show(path)} and not one of ${show(wrong)}`);
	}
	if (wrong.length > 0) return differ(`accepted, although wrong: ${show(wrong)}`);
	return isSame(found, value) ? undefined : differ(`${show(found)} and not ${show(value)}`);
}

/** What was read is written, and read again: it must be the same, as far as JSON itself can say it. */
function checkEncoder(message: ExpectedMessage, subject: Subject): Problem | undefined {
	const { line, wanted } = rewrite(message, subject) ?? {};
	if (line === undefined) return undefined;
	if (line.indexOf('\n') !== line.length - 1) return { check: 'encoder: line ends', found: show(line) };
	const isClients = message.kind === 'request' || message.kind === 'notice';
	const again = isClients ? expectClientMessage(line.slice(0, -1)) : expectSidecarMessage(line.slice(0, -1));
	return isSame(again, wanted)
		? undefined
		: { check: 'encoder', found: `${line} is read as ${show(again)} and not ${show(wanted)}` };
}

/** The line of a message, and what must be read in it. A failure and a notice keep only what means something. */
function rewrite(message: ExpectedMessage, subject: Subject): { line: string; wanted: unknown } | undefined {
	const { kind } = message;
	if (kind === 'fault') return undefined;
	if (kind === 'notice') {
		// Events have writers of their own.
		if (message.func !== 'cancel') return undefined;
		const id = (message.data as { id?: unknown } | null)?.id;
		return isWhole(id, 0, ID_MAX)
			? { line: subject.encodeCancel(id), wanted: { ...message, data: { id: id + 0 } } }
			: undefined;
	}
	if (kind === 'failure') {
		const error = SpockError.fromWire(message.error).toWire();
		return { line: subject.encodeFailure(message.id, error), wanted: { ...message, error: throughJson(error) } };
	}
	const payload = subject.encodePayload(message.data);
	const wanted = { ...message, data: throughJson(message.data) };
	if (kind === 'reply') return { line: subject.encodeReply(message.id, payload), wanted };
	if (kind === 'push') return { line: subject.encodePush(message.event, payload), wanted };
	const tail = subject.encodeRequestTail(message.func, payload, message.timeoutMs as number | undefined);
	const trace = message.trace === undefined ? '' : subject.encodeTrace(message.trace);
	return { line: subject.encodeRequest(message.id, trace + tail), wanted };
}

/** JSON writes -0 as 0, and a number past the largest one as null. */
function throughJson(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value));
}
