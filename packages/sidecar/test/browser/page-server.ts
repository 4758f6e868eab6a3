import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const DIRECTORY = 'packages/sidecar/src/admin/page';
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', css: 'text/css', js: 'text/javascript' };

/** The files of the page: as they are in the source, or as they were at a commit. */
export function pageFiles(commit?: string): ReadonlyMap<string, Buffer> {
	if (commit === undefined) {
		const directory = join(root, DIRECTORY);
		return new Map(readdirSync(directory).map((file) => [file, readFileSync(join(directory, file))]));
	}
	const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: root });
	const names = git('ls-tree', '--name-only', `${commit}:${DIRECTORY}`).toString().trim().split('\n');
	return new Map(names.map((file) => [file, git('show', `${commit}:${DIRECTORY}/${file}`)]));
}

/** As the admin port serves it. */
function styleOf(files: ReadonlyMap<string, Buffer>): Buffer {
	const names = ['page', 'panels', 'tables', 'parts', 'clients'];
	return Buffer.concat(names.flatMap((name) => files.get(`${name}.css`) ?? []));
}

/** Serves these files of the page over the data of a running sidecar, so that two versions of the page can be compared. */
export async function servePage(
	files: ReadonlyMap<string, Buffer>,
	url: string,
): Promise<AsyncDisposable & { readonly url: string }> {
	const server = createServer((incoming, response) => {
		const { pathname } = new URL(incoming.url ?? '/', url);
		const file = pathname === '/' ? 'index.html' : pathname.replace('/page/', '');
		const body = file === 'style.css' ? styleOf(files) : files.get(file);
		if (body !== undefined) {
			const type = TYPES[file.split('.').at(-1) ?? ''] ?? 'image/svg+xml';
			response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
			return;
		}
		const asked = request(new URL(incoming.url ?? '/', url), (answer) => {
			response.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(response);
		});
		asked.on('error', () => response.destroy());
		response.on('close', () => asked.destroy());
		asked.end();
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		async [Symbol.asyncDispose](): Promise<void> {
			server.close();
			server.closeAllConnections();
			await once(server, 'close');
		},
	};
}
