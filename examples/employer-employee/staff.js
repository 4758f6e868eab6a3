// The processes of the load test: a sidecar over a services file, employees, and an employer.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const sidecarBin = join(dirname(fileURLToPath(import.meta.resolve('@spock/sidecar/package.json'))), 'bin/sidecar.js');
const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Where everything of one run is, and what ends it. */
export class Staff {
	#directory = mkdtempSync(join(tmpdir(), 'spock-staff-'));
	#socket = join(this.#directory, 's.sock');
	#services = join(this.#directory, 'services.json');
	#children = new Set();

	/** Starts the sidecar, with nobody registered. */
	async open() {
		this.register([]);
		const args = [sidecarBin, 'start', '--socket', this.#socket, '--backend', 'local', '--services', this.#services];
		await this.#start([...args, '--log-format', 'json'], /listening/);
	}

	/** Replaces the instances of the service, as a registry does once it has noticed. */
	register(employees) {
		const employee = employees.map(({ name, port }) => ({ id: name, host: '127.0.0.1', port }));
		writeFileSync(`${this.#services}.new`, JSON.stringify({ services: { employee } }));
		renameSync(`${this.#services}.new`, this.#services);
	}

	/** Starts a worker. */
	hire(name, workMs) {
		return this.#serve(['employee.js', '--name', name, '--work-ms', String(workMs)], name);
	}

	/** Starts an employer that calls them in one of the ways. */
	employ(way) {
		return this.#serve(['employer.js', '--way', way], 'the employer');
	}

	/** Ends everything. */
	async close() {
		await Promise.all([...this.#children].map((child) => this.stop({ child })));
		rmSync(this.#directory, { recursive: true });
	}

	async stop({ child }, signal = 'SIGKILL') {
		if (!this.#children.delete(child)) return;
		const exited = once(child, 'exit');
		child.kill(signal);
		await exited;
	}

	async #serve([file, ...args], name) {
		const { child, found } = await this.#start([script(file), ...args], /listens at 127\.0\.0\.1:(\d+)/);
		return { name, child, port: Number(found[1]) };
	}

	/** Resolves when the process has printed a line that matches. */
	async #start(args, pattern) {
		const child = spawn(process.execPath, args, {
			stdio: ['ignore', 'pipe', 'inherit'],
			env: { ...process.env, SPOCK_SOCKET: this.#socket },
		});
		this.#children.add(child);
		for await (const line of createInterface(child.stdout)) {
			const found = pattern.exec(line);
			if (found === null) continue;
			// What else it prints is read too, or it would wait for us.
			child.stdout.resume();
			return { child, found };
		}
		throw new Error(`${args.join(' ')} ended before it was ready`);
	}
}
