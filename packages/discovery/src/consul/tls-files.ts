import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../discovery-event.ts';
import type { ConsulTls } from './consul-options.ts';
import { readSmallFile } from './small-file.ts';

/** The files are looked at before a query, and not more often than this. */
const LOOK_MS = 1000;

/** What a TLS connection is made with. */
export interface TlsSecrets {
	readonly ca?: string;
	readonly cert?: string;
	readonly key?: string;
}

/** What a {@link TlsFiles} needs. */
export interface TlsFilesOptions {
	readonly tls: ConsulTls;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener | undefined;
}

/**
 * The files of TLS, which somebody else replaces now and then. While one of them is missing or bad, or certificate and key do not
 * belong together, what was good last stays in force, and that is told once for each way of being bad.
 */
export class TlsFiles {
	readonly #options: TlsFilesOptions;
	readonly #files: Readonly<Partial<Record<keyof TlsSecrets, string>>>;
	#secrets: TlsSecrets;
	#lookedAtMs: number;
	#complaint: string | undefined;

	/** Throws an Error that names the file if one cannot be read or is bad. */
	constructor(options: TlsFilesOptions) {
		const { caFile, certFile, keyFile } = options.tls;
		this.#options = options;
		this.#files = {
			...(caFile && { ca: caFile }),
			...(certFile && { cert: certFile }),
			...(keyFile && { key: keyFile }),
		};
		this.#lookedAtMs = options.clock.now();
		this.#secrets = Object.fromEntries(
			Object.entries(this.#files).map(([name, path]) => [name, readFileSync(path, 'utf8')]),
		);
		this.#check(this.#secrets);
	}

	/** The secrets in force: the very same object until they change. */
	get secrets(): TlsSecrets {
		return this.#secrets;
	}

	/** Looks whether the files have changed, unless that was done a moment ago. */
	async look(): Promise<void> {
		const { clock, onEvent } = this.#options;
		const names = Object.keys(this.#files) as (keyof TlsSecrets)[];
		if (names.length === 0 || clock.now() - this.#lookedAtMs < LOOK_MS) return;
		this.#lookedAtMs = clock.now();
		const files = names.map((name) => this.#files[name] as string);
		try {
			const texts = await Promise.all(files.map(readSmallFile));
			const secrets: TlsSecrets = Object.fromEntries(names.map((name, number) => [name, texts[number]]));
			const isSame = names.every((name) => secrets[name] === this.#secrets[name]);
			if (!isSame) this.#check(secrets);
			const isNews = !isSame || this.#complaint !== undefined;
			this.#complaint = undefined;
			if (!isSame) this.#secrets = secrets;
			if (isNews) onEvent?.({ type: 'credentials-loaded', what: 'TLS files', files });
		} catch (reason) {
			const error = reason as Error;
			if (error.message === this.#complaint) return;
			this.#complaint = error.message;
			onEvent?.({ type: 'credentials-refused', what: 'TLS files', files, error });
		}
	}

	/** Throws an Error that names the files if nothing can be made of them. */
	#check(secrets: TlsSecrets): void {
		const names = Object.values(this.#files).join(', ');
		try {
			// Node takes anything as a CA, and trusts nobody then.
			if (secrets.ca !== undefined) new X509Certificate(secrets.ca);
			// And an empty key as none, which is seen only when a server asks for the certificate.
			const key = secrets.key === undefined ? undefined : createPrivateKey(secrets.key);
			const certificate = secrets.cert === undefined ? undefined : new X509Certificate(secrets.cert);
			if (key && certificate?.checkPrivateKey(key) === false) throw new Error('certificate and key do not match');
			createSecureContext({ ...secrets });
		} catch (cause) {
			throw new Error(`the TLS files are bad (${names}): ${(cause as Error).message}`, { cause });
		}
	}
}
