import { SpockError } from '@spock/protocol';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';
import { LastGood, readSmallFile } from '../client/last-good.ts';

/** What a token may consist of, because it is sent in a header. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/;

/** An ACL token that was given: one with more than a header may carry would look like a Consul that fails. Throws a TypeError, which does not show it. */
export function tokenOption(name: string, token: string): string {
	if (typeof token === 'string' && TOKEN.test(token)) return token;
	throw new TypeError(`${name} must be 1 to 65536 printable ASCII characters without spaces`);
}

/** What a {@link CredentialFile} needs. */
export interface CredentialFileOptions {
	readonly path: string;
	/** For messages: `ACL token`. */
	readonly what: string;
	/** Served until the file has been good once. */
	readonly fallback?: string | undefined;
	readonly onEvent: DiscoveryListener | undefined;
}

/**
 * A token in a file that somebody else replaces now and then: read at each use. While the file is missing, empty or no token, the
 * last good one stays in force, and that is told once for each way of being bad.
 */
export class CredentialFile {
	readonly #options: CredentialFileOptions;
	readonly #token: LastGood<string | undefined>;

	constructor(options: CredentialFileOptions) {
		this.#options = options;
		const { path, what, onEvent } = options;
		this.#token = new LastGood<string | undefined>({ what, files: [path], onEvent }, undefined);
	}

	/** The token. Rejects with UNAVAILABLE, naming the file, if there has never been a good one. */
	async read(): Promise<string> {
		const { path, what, fallback } = this.#options;
		try {
			const text = (await readSmallFile(path)).trim();
			if (text === '') throw new Error(`${path} is empty`);
			if (!TOKEN.test(text)) throw new Error(`${path} must contain one token and nothing else`);
			this.#token.accept(text);
			return text;
		} catch (reason) {
			const error = reason as Error;
			this.#token.refuse(error);
			const last = this.#token.value ?? fallback;
			if (last !== undefined) return last;
			throw new SpockError('UNAVAILABLE', `no ${what} is available: ${error.message}`, { cause: error });
		}
	}
}
