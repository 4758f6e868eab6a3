// Node's hook that resolves what packages/nestjs imports of NestJS to the previous major, which this directory has.
const OF_NEST = /^(@nestjs\/.*|rxjs|reflect-metadata)$/;

export function resolve(specifier, context, next) {
	const isOurs = OF_NEST.test(specifier) && context.parentURL?.includes('/packages/nestjs/');
	return next(specifier, isOurs ? { ...context, parentURL: import.meta.url } : context);
}
