import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One instance as a services file has it. */
export interface TempInstance {
	readonly id?: string;
	readonly host: string;
	readonly port: number;
	readonly tags?: readonly string[];
	readonly status?: string;
}

/** A services file of a test: a registry that it can move. Disposing removes it. */
export class TempServices implements AsyncDisposable {
	/** The file, for `localSource({ file })` or a sidecar's `--services`. */
	readonly file: string;
	readonly #directory: string;
	readonly #services: Record<string, readonly TempInstance[]> = {};
	readonly #keys: Record<string, string> = {};

	/** Makes one without services. */
	static async make(): Promise<TempServices> {
		const services = new TempServices(await mkdtemp('/tmp/spock-services-'));
		await services.#write();
		return services;
	}

	private constructor(directory: string) {
		this.#directory = directory;
		this.file = join(directory, 'services.json');
	}

	/** Replaces the instances of a service, at once. */
	async set(service: string, instances: readonly TempInstance[]): Promise<void> {
		this.#services[service] = instances;
		await this.#write();
	}

	/** Sets the value of a key, at once. */
	async setKey(key: string, value: string): Promise<void> {
		this.#keys[key] = value;
		await this.#write();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await rm(this.#directory, { recursive: true, force: true });
	}

	async #write(): Promise<void> {
		await writeFile(`${this.file}.new`, JSON.stringify({ services: this.#services, keys: this.#keys }));
		await rename(`${this.file}.new`, this.file);
	}
}
