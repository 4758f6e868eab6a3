import { createHash } from 'node:crypto';

import { isObject } from '@spock/protocol/internal';

import type { StateRefusal } from '../foundation/discovery-event.ts';

const FORMAT = 'spock-state';
const VERSION = 1;

/** What a file contains: the instances or keys of a query, a list of services, or the times of verification. */
export type StateKind = 'instances' | 'keys' | 'list' | 'verified';

/** A file that cannot be used; the message says why. */
export class StateFileError extends Error {
	readonly refusal: StateRefusal;

	constructor(refusal: StateRefusal, message: string) {
		super(message);
		this.name = 'StateFileError';
		this.refusal = refusal;
	}
}

/** A file's text, and the checksum that identifies its content. */
export interface StateText {
	readonly text: string;
	readonly checksum: string;
}

/**
 * A header line, and a line with the body. The checksum covers kind, scope and body, so that any changed or missing part is
 * detected.
 */
export function encodeStateFile(scope: string, kind: StateKind, body: unknown): StateText {
	const payload = JSON.stringify(body);
	const checksum = checksumOf(scope, kind, payload);
	return {
		text: `${JSON.stringify({ format: FORMAT, version: VERSION, kind, scope, checksum })}\n${payload}\n`,
		checksum,
	};
}

/** The body of a file, and the checksum that identifies its content. Throws a StateFileError. */
export function decodeStateFile(text: string, scope: string, kind: StateKind): { body: unknown; checksum: string } {
	const lineEnd = text.indexOf('\n');
	if (text.length === 0) throw new StateFileError('torn', 'it is empty');
	const header = parse(lineEnd < 0 ? text : text.slice(0, lineEnd));
	if (!isObject(header) || header['format'] !== FORMAT) {
		const isOurs = text.startsWith(`{"format":"${FORMAT}"`);
		throw isOurs
			? new StateFileError('torn', 'its first line is cut off')
			: new StateFileError('foreign', 'it is not a state file of Spock');
	}
	const { version, checksum } = header;
	if (version !== VERSION) {
		throw new StateFileError('version', `it has version ${String(version)}; this program reads version ${VERSION}`);
	}
	if (header['scope'] !== scope) {
		throw new StateFileError(
			'scope',
			`it belongs to ${JSON.stringify(header['scope'])}, not to ${JSON.stringify(scope)}`,
		);
	}
	const payload = text.slice(lineEnd + 1, -1);
	if (lineEnd < 0 || !text.endsWith('\n') || checksum !== checksumOf(scope, String(header['kind']), payload)) {
		throw new StateFileError('torn', 'its checksum does not match its content');
	}
	if (header['kind'] !== kind)
		throw new StateFileError('foreign', `it contains ${String(header['kind'])}, not ${kind}`);
	return { body: parse(payload), checksum: checksum as string };
}

/** The name of the file of a query or a list. */
export function stateFileName(kind: StateKind, key: string): string {
	return `${kind}-${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`;
}

function checksumOf(scope: string, kind: string, payload: string): string {
	return createHash('sha256')
		.update(JSON.stringify([scope, kind]))
		.update(payload)
		.digest('hex');
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		// The caller handles text that is not JSON.
		return undefined;
	}
}
