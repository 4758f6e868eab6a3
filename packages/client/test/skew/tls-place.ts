import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { makeAuthority, type RunningProcess, TcpGate, waitFor } from '@spock/testkit';

import type { TlsAddress } from './skew-messages.ts';

/** Of the app that those who connect have the token of. */
const NAME = 'pod';

/**
 * The address of a sidecar over TCP, with TLS and the token of a named app; it stays the same when another sidecar listens behind it, as
 * that of a Service does. Has files for both ends.
 */
export class TlsPlace implements AsyncDisposable {
	readonly #directory: string;
	readonly #gate: TcpGate;

	private constructor(directory: string, gate: TcpGate) {
		this.#directory = directory;
		this.#gate = gate;
	}

	/** `token`: the one that is accepted, and used. */
	static async open(token: string): Promise<TlsPlace> {
		// Nothing listens behind it yet.
		const place = new TlsPlace(await mkdtemp('/tmp/spock-tls-'), await TcpGate.open(0));
		const { ca, issue } = makeAuthority();
		const { cert, key } = issue();
		for (const [name, text] of Object.entries({ ca, cert, key })) await place.#write(`${name}.pem`, text);
		await place.accept(token);
		await place.use(token);
		return place;
	}

	/** Of a sidecar that listens here. */
	get listenArgs(): readonly string[] {
		const tls = ['--tls-cert', this.#file('cert.pem'), '--tls-key', this.#file('key.pem')];
		return ['--listen', 'tls://127.0.0.1:0', ...tls, '--token-file', this.#file('accepted')];
	}

	/** Of a sidecar that asks here. */
	get upstreamArgs(): readonly string[] {
		const { host, port, caFile, tokenFile } = this.address;
		return ['--upstream', `tls://${host}:${port}`, '--upstream-ca', caFile, '--upstream-token-file', tokenFile];
	}

	/** For an app that asks here. */
	get address(): TlsAddress {
		const { hostname: host, port } = new URL(this.#gate.url);
		return { host, port: Number(port), caFile: this.#file('ca.pem'), tokenFile: this.#file('token') };
	}

	/** This sidecar is found here from now on. Connections to the one before stay. */
	async leadTo({ stdout }: RunningProcess): Promise<void> {
		// Logged after it listens.
		const port = await waitFor('the port', () => /127\.0\.0\.1:(\d+)"/.exec(stdout())?.[1]);
		this.#gate.leadTo(Number(port));
	}

	/** The tokens that a sidecar here accepts. */
	accept(...tokens: readonly string[]): Promise<void> {
		return this.#write('accepted', tokens.map((token) => `${NAME}: ${token}\n`).join(''));
	}

	/** The token that those who connect have. */
	use(token: string): Promise<void> {
		return this.#write('token', token);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#gate.shut();
		await rm(this.#directory, { recursive: true, force: true });
	}

	#file(name: string): string {
		return join(this.#directory, name);
	}

	async #write(name: string, text: string): Promise<void> {
		await writeFile(this.#file(`${name}.new`), text, { mode: 0o600 });
		await rename(this.#file(`${name}.new`), this.#file(name));
	}
}
