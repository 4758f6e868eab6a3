import type { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { ConsulConnectionOptions } from '../client/consul-options.ts';
import { ConsulLogin, type ConsulLoginContext } from './consul-login.ts';
import { CredentialFile } from './credential-file.ts';

/** Queries that are sent together share a look at the file: reading it costs more than the rest of a small query. */
const LOOK_MS = 100;

/** What a {@link ConsulToken} needs. */
export interface ConsulTokenOptions
	extends Pick<ConsulConnectionOptions, 'token' | 'tokenFile' | 'login'>,
		Omit<ConsulLoginContext, 'login'> {}

/** The ACL token to send: by login, from a file that may rotate, or one that was given. */
export class ConsulToken {
	readonly #given: string | undefined;
	readonly #source: ConsulLogin | CredentialFile | undefined;
	readonly #clock: Clock;
	#look: { readonly atMs: number; readonly token: Promise<string> } | undefined;

	constructor(options: ConsulTokenOptions) {
		const { token, tokenFile, login, onEvent, clock } = options;
		this.#given = token;
		this.#clock = clock;
		if (login !== undefined) this.#source = new ConsulLogin({ ...options, login });
		else if (tokenFile !== undefined) {
			this.#source = new CredentialFile({ path: tokenFile, what: 'ACL token', fallback: token, onEvent });
		}
	}

	/** The token of now; undefined for none. Rejects with UNAVAILABLE or ACL_DENIED if there is none to be had. */
	async read(): Promise<string | undefined> {
		if (!(this.#source instanceof CredentialFile))
			return this.#source === undefined ? this.#given : this.#source.read();
		const nowMs = this.#clock.now();
		const look = this.#look;
		return look !== undefined && nowMs - look.atMs < LOOK_MS ? look.token : this.#lookNow(this.#source, nowMs);
	}

	/** True if another one may come at any time: it is read from a file. A login sees to its own. */
	get mayBeReplaced(): boolean {
		return this.#source instanceof CredentialFile;
	}

	/** True if Consul refused a token that it does not know any more, and there is another one now. */
	async isReplaced(token: string | undefined, error: SpockError): Promise<boolean> {
		if (token === undefined || !isUnknownToken(error)) return false;
		if (this.#source instanceof ConsulLogin) return this.#source.renew(token);
		if (this.#source === undefined) return false;
		return (await this.#lookNow(this.#source, this.#clock.now())) !== token;
	}

	#lookNow(source: CredentialFile, atMs: number): Promise<string> {
		const token = source.read();
		const look = { atMs, token };
		this.#look = look;
		// Whoever asked hears of it; the next one looks for itself.
		token.catch(() => {
			if (this.#look === look) this.#look = undefined;
		});
		return token;
	}

	/** Logs out. Never rejects. */
	async close(): Promise<void> {
		if (this.#source instanceof ConsulLogin) await this.#source.close();
	}
}

function isUnknownToken(error: SpockError): boolean {
	return error.code === 'ACL_DENIED' && error.details['isUnknownToken'] === true;
}
