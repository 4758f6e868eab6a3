/** The process of one measurement that is not made of calls alone. Arguments: which, and what it needs. */
const [name = '', ...args] = process.argv.slice(2);

switch (name) {
	case 'lookups':
		await (await import('./lookups.ts')).probeLookups(args);
		break;
	case 'micro':
		await (await import('./micro.ts')).probeMicro();
		break;
	case 'allocations':
		await (await import('./allocations.ts')).probeAllocations();
		break;
	case 'watchers':
		await (await import('./watchers.ts')).probeWatchers(args);
		break;
	case 'consul-changes':
		await (await import('./consul-changes.ts')).probeConsulChanges(args);
		break;
	case 'subscribe':
		await (await import('./subscribe.ts')).probeSubscribe(args);
		break;
	case 'events':
		await (await import('./events.ts')).probeEvents(args);
		break;
	case 'events-fill':
		await (await import('./fill-events.ts')).fillEvents(args);
		break;
	case 'push-server':
		await (await import('./push-server.ts')).servePushes(args);
		break;
	case 'scale-node':
		await (await import('../scale/processes/scale-node.ts')).probeScaleNode(args);
		break;
	case 'scale-apps':
		await (await import('../scale/processes/scale-apps.ts')).probeScaleApps(args);
		break;
	case 'scale-caller':
		await (await import('../scale/processes/scale-caller.ts')).probeScaleCaller(args);
		break;
	case 'scale-sidecars':
		await (await import('../scale/processes/scale-sidecars.ts')).probeScaleSidecars(args);
		break;
	case 'scale-watchers':
		await (await import('../scale/processes/scale-watchers.ts')).probeScaleWatchers(args);
		break;
	case 'scale-hop':
		await (await import('../scale/processes/scale-hop.ts')).probeScaleHop(args);
		break;
	case 'scale-picks':
		await (await import('../scale/processes/scale-picks.ts')).probeScalePicks(args);
		break;
	case 'scale-large':
		await (await import('../scale/processes/scale-large.ts')).probeScaleLarge(args);
		break;
	case 'scale-flood':
		await (await import('../scale/processes/scale-flood.ts')).probeScaleFlood(args);
		break;
	default:
		throw new Error(`no probe is called ${name}`);
}
