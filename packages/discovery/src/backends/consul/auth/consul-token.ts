import type { SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { ConsulConnectionOptions } from '../client/consul-options.ts';
import { ConsulLogin, type ConsulLoginContext } from './consul-login.ts';
import { CredentialFile, tokenOption } from './credential-file.ts';

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
		this.#given = token === undefined ? undefined : tokenOption('token', token);
		this.#clock = clock;
		if (login !== undefined) this.#source = new ConsulLogin({ ...options, login });
		else if (tokenFile !== undefined) {
			this.#source = new CredentialFile({ path: tokenFile, what: 'ACL token', fallback: this.#given, onEvent });
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

	/** True if it may be replaced at any time, because it is read from a file. A login renews its own. */
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
		// The caller gets the error; the next one reads the file again.
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

/** How soon another token is used once Consul has refused the last one, whatever the back-offs of the watches are. */
const REPLACE_MS = 500;

/** Reads the token file again after Consul has refused its token, until it contains another one. */
export class TokenReplacement {
	readonly #clock: Clock;
	readonly #token: ConsulToken;
	readonly #listeners = new Set<() => void>();
	#timer: TimerHandle | undefined;
	#isStopped = false;

	constructor(clock: Clock, token: ConsulToken) {
		this.#clock = clock;
		this.#token = token;
	}

	/** Adds a listener, called each time that a refused token was replaced; call the returned function to remove it. */
	onReplaced(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Consul has refused this token; other errors are ignored. */
	refused(token: string | undefined, error: SpockError): void {
		if (this.#isStopped || this.#timer !== undefined || error.code !== 'ACL_DENIED') return;
		if (token === undefined || !this.#token.mayBeReplaced) return;
		this.#timer = this.#clock.setTimeout(() => void this.#look(token, error), REPLACE_MS);
		// A call that needs the token holds the process by itself.
		this.#timer.unref?.();
	}

	/** Idempotent; no listener is called after it. */
	stop(): void {
		this.#isStopped = true;
		this.#clock.clearTimeout(this.#timer);
		this.#listeners.clear();
	}

	async #look(refused: string, error: SpockError): Promise<void> {
		// Never rejects: the file was good once, or there would be no token, and its last good one stays in force.
		const token = await this.#token.read();
		this.#timer = undefined;
		if (token === refused) this.refused(refused, error);
		else for (const listener of [...this.#listeners]) listener();
	}
}
