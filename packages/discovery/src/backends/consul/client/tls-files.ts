import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';

import type { Clock } from '@spock/protocol/internal';
import { statOf } from '@spock/protocol/node';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';
import type { ConsulTls } from './consul-options.ts';
import { LastGood, readSmallFile } from './last-good.ts';

/** Files in a directory of certificates: more is something else than that. */
const CA_FILES_MAX = 1000;
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
	readonly #caPath: string | undefined;
	readonly #named: readonly string[];
	readonly #good: LastGood<TlsSecrets>;
	#lookedAtMs: number;

	/** Throws an Error that names the file if one cannot be read or is bad. */
	constructor(options: TlsFilesOptions) {
		this.#options = options;
		const { tls, onEvent } = options;
		this.#named = [tls.caFile ?? tls.caPath, tls.certFile, tls.keyFile].filter((path) => path !== undefined);
		this.#caPath = tls.caFile === undefined ? tls.caPath : undefined;
		this.#lookedAtMs = options.clock.now();
		const files = this.#list();
		const secrets = this.#check(
			files,
			files.map(({ path }) => readNow(path)),
		);
		this.#good = new LastGood({ what: 'TLS files', files: this.#named, onEvent, isSame }, secrets);
	}

	/** The secrets in force: the very same object until they change. */
	get secrets(): TlsSecrets {
		return this.#good.value;
	}

	/** Looks whether the files have changed, unless that was done a moment ago. */
	async look(): Promise<void> {
		const { clock } = this.#options;
		if (this.#named.length === 0 || clock.now() - this.#lookedAtMs < LOOK_MS) return;
		this.#lookedAtMs = clock.now();
		try {
			const files = this.#list();
			const texts = await Promise.all(files.map(({ path }) => readSmallFile(path)));
			this.#good.accept(this.#check(files, texts));
		} catch (reason) {
			this.#good.refuse(reason as Error);
		}
	}

	/** The files of now: those of a directory come and go. Throws where it cannot be read. */
	#list(): readonly TlsFile[] {
		const { caFile, certFile, keyFile } = this.#options.tls;
		const inPath = this.#caPath === undefined ? [] : listCertificates(this.#caPath);
		return [
			...inPath.map((path): TlsFile => ({ name: 'ca', path })),
			...(caFile ? [{ name: 'ca', path: caFile } as const] : []),
			...(certFile ? [{ name: 'cert', path: certFile } as const] : []),
			...(keyFile ? [{ name: 'key', path: keyFile } as const] : []),
		];
	}

	/** What the files say. Throws an Error that names them if nothing can be made of them. */
	#check(files: readonly TlsFile[], texts: readonly string[]): TlsSecrets {
		const text = (name: keyof TlsSecrets): string | undefined => {
			const own = texts.filter((_, number) => files[number]?.name === name);
			return own.length === 0 ? undefined : own.join('\n');
		};
		const [ca, cert, key] = [text('ca'), text('cert'), text('key')];
		const secrets: TlsSecrets = { ...(ca !== undefined && { ca }), ...(cert && { cert }), ...(key && { key }) };
		const { certFile, keyFile } = this.#options.tls;
		let suspect: string | undefined;
		try {
			// Node takes anything as a CA, and trusts nobody then.
			for (const [number, { name, path }] of files.entries()) {
				if (name !== 'ca') continue;
				suspect = path;
				new X509Certificate(texts[number] as string);
			}
			// And an empty key as none, which is seen only when a server asks for the certificate.
			suspect = keyFile;
			const privateKey = key === undefined ? undefined : createPrivateKey(key);
			suspect = certFile;
			const certificate = cert === undefined ? undefined : new X509Certificate(cert);
			suspect = undefined;
			if (privateKey && certificate?.checkPrivateKey(privateKey) === false) {
				throw new Error('certificate and key do not match');
			}
			createSecureContext({ ...secrets });
		} catch (cause) {
			const names = suspect ?? files.map(({ path }) => path).join(', ');
			throw new Error(
				`the TLS ${suspect === undefined ? 'files are' : 'file is'} bad (${names}): ${(cause as Error).message}`,
				{ cause },
			);
		}
		return secrets;
	}
}

function isSame(before: TlsSecrets, now: TlsSecrets): boolean {
	return (['ca', 'cert', 'key'] as const).every((name) => before[name] === now[name]);
}

interface TlsFile {
	readonly name: keyof TlsSecrets;
	readonly path: string;
}

/** The files in a directory, but not what is hidden or below it: a mounted secret has links in it, and its data beside them. */
function listCertificates(directory: string): readonly string[] {
	const names = readdirSync(directory, { withFileTypes: true })
		.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
		.map(({ name }) => name)
		.sort();
	if (names.length === 0) throw new Error(`${directory} contains no certificate`);
	if (names.length > CA_FILES_MAX) throw new Error(`${directory} contains more than ${CA_FILES_MAX} files`);
	return names.map((name) => join(directory, name));
}

/** The text of a file, at the start. Throws for what is no file: a FIFO would hold up the whole process. */
function readNow(path: string): string {
	if (statOf(path)?.isFile() === false) throw new Error(`${path} cannot be read: it is not a regular file`);
	return readFileSync(path, 'utf8');
}
