import type { SpockError } from '@spock/protocol';

import { ConsulLogin, type ConsulLoginContext } from './consul-login.ts';
import type { ConsulConnectionOptions } from './consul-options.ts';
import { CredentialFile } from './credential-file.ts';

/** What a {@link ConsulToken} needs. */
export interface ConsulTokenOptions
	extends Pick<ConsulConnectionOptions, 'token' | 'tokenFile' | 'login'>,
		Omit<ConsulLoginContext, 'login'> {}

/** The ACL token to send: by login, from a file that may rotate, or one that was given. */
export class ConsulToken {
	readonly #given: string | undefined;
	readonly #source: ConsulLogin | CredentialFile | undefined;

	constructor(options: ConsulTokenOptions) {
		const { token, tokenFile, login, onEvent } = options;
		this.#given = token;
		if (login !== undefined) this.#source = new ConsulLogin({ ...options, login });
		else if (tokenFile !== undefined) {
			this.#source = new CredentialFile({ path: tokenFile, what: 'ACL token', fallback: token, onEvent });
		}
	}

	/** The token of now; undefined for none. Rejects with UNAVAILABLE or ACL_DENIED if there is none to be had. */
	async read(): Promise<string | undefined> {
		return this.#source === undefined ? this.#given : this.#source.read();
	}

	/** True if Consul refused a token that it does not know any more, and there is another one now. */
	async isReplaced(token: string | undefined, error: SpockError): Promise<boolean> {
		if (token === undefined || !isUnknownToken(error)) return false;
		if (this.#source instanceof ConsulLogin) return this.#source.renew(token);
		return this.#source !== undefined && (await this.#source.read()) !== token;
	}

	/** Logs out. Never rejects. */
	async close(): Promise<void> {
		if (this.#source instanceof ConsulLogin) await this.#source.close();
	}
}

function isUnknownToken(error: SpockError): boolean {
	return error.code === 'ACL_DENIED' && error.details['isUnknownToken'] === true;
}
