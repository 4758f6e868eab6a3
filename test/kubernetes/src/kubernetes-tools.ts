import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** The directory that tools/kubelet/build.sh made. */
export interface KubernetesTools {
	readonly directory: string;
	/** The path of one of its programs. Throws an Error when it is not there. */
	program(name: string): string;
	/** What its programs have in their environment: one another on the path, and their library. */
	readonly env: Readonly<Record<string, string>>;
}

/** What SPOCK_KUBERNETES names. Throws an Error that says what to do when it does not, so that no test passes without. */
export function kubernetesTools(env: Readonly<Record<string, string | undefined>>): KubernetesTools {
	const directory = env['SPOCK_KUBERNETES'];
	if (!directory)
		throw new Error('run this by `npm run suite kubelet` or `npm run suite apiserver`, which build what it needs');
	return {
		directory,
		program: (name) => {
			const path = join(directory, 'bin', name);
			accessSync(path, constants.X_OK);
			return path;
		},
		env: {
			PATH: `${join(directory, 'bin')}:${env['PATH'] ?? ''}`,
			LD_LIBRARY_PATH: join(directory, 'lib'),
		},
	};
}
