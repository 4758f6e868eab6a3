import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An image of one layer. */
export interface ImageOptions {
	/** With registry and tag: `docker.io/library/app:1`. */
	readonly name: string;
	/** What is in it, from the top of its file system on. */
	readonly root: string;
	readonly entrypoint: readonly string[];
}

/**
 * Writes an archive that `ctr images import` and `podman load` read, in the form that `docker save` has, without a program
 * for images (https://github.com/moby/docker-image-spec/blob/main/spec.md, "Combined Image JSON + Filesystem Changeset Format").
 */
export async function writeImageArchive(path: string, { name, root, entrypoint }: ImageOptions): Promise<void> {
	const work = await mkdtemp(join(tmpdir(), 'spock-image-'));
	try {
		const owned = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '--mtime=@0'];
		await run('tar', ['-C', root, ...owned, '-cf', join(work, 'layer.tar'), '.']);
		const layer = createHash('sha256')
			.update(await readFile(join(work, 'layer.tar')))
			.digest('hex');
		const config = {
			architecture: process.arch === 'x64' ? 'amd64' : process.arch,
			os: 'linux',
			config: { Entrypoint: entrypoint },
			rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
		};
		await writeFile(join(work, 'config.json'), JSON.stringify(config));
		const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }];
		await writeFile(join(work, 'manifest.json'), JSON.stringify(manifest));
		await run('tar', ['-C', work, '-cf', path, 'manifest.json', 'config.json', 'layer.tar'], { cwd: dirname(path) });
	} finally {
		await rm(work, { recursive: true, force: true });
	}
}
