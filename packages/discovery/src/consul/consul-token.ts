import { readFile } from 'node:fs/promises';

import { SpockError } from '@spock/protocol';

import type { ConsulConnectionOptions } from './consul-options.ts';

/** The ACL token to send: one that was given, or what stands in a file that may rotate. */
export class ConsulToken {
	readonly #options: Pick<ConsulConnectionOptions, 'token' | 'tokenFile'>;

	constructor(options: Pick<ConsulConnectionOptions, 'token' | 'tokenFile'>) {
		this.#options = options;
	}

	/** The token of now; undefined for none. Rejects with UNAVAILABLE if the file cannot be read. */
	async read(): Promise<string | undefined> {
		const { token, tokenFile } = this.#options;
		if (tokenFile === undefined) return token;
		try {
			return (await readFile(tokenFile, 'utf8')).trim() || token;
		} catch (cause) {
			throw new SpockError('UNAVAILABLE', `the Consul token file cannot be read: ${tokenFile}`, { cause });
		}
	}
}
