import { typedCommand } from '../output/command-name.ts';

/** Where a command runs: what it advises must be possible there. */
export interface Place {
	/** True in a pod, where sidecars are containers and nothing is started by hand. */
	readonly isPod: boolean;
	/** How this program is called there: as it was called now. */
	readonly command: string;
	/** True if a Consul is named here: CONSUL_HTTP_ADDR. */
	readonly hasConsul: boolean;
}

/** The place of a process with these variables: Kubernetes and npm's `exec` each set one. */
export function placeOf(env: Readonly<Record<string, string | undefined>>): Place {
	const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== '';
	return {
		...{ isPod: isSet('KUBERNETES_SERVICE_HOST'), command: typedCommand({ env }) },
		hasConsul: isSet('CONSUL_HTTP_ADDR'),
	};
}

/** What to do where no sidecar is found. */
export function startHint({ isPod, command }: Place): string {
	if (!isPod) return `Start one with \`${command} start\`, or give its address with --socket or --connect`;
	return (
		"Check that the sidecar's container runs (`kubectl get pod`), and that this container mounts its volume at the same path; " +
		'or give its address with --socket or --connect'
	);
}
