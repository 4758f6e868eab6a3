// For typedoc.json: entries are called as they are imported, and pages by their headings.
import { Converter, ReflectionKind, Renderer } from 'typedoc';

/** @param {import('typedoc').Application} app */
export function load(app) {
	app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
		for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
			module.name = `@spock/${module.name.replace('/src', '')}`;
		}
	});
	// Their addresses stand by now, and stay those of the files.
	app.renderer.on(Renderer.EVENT_BEGIN, ({ project }) => {
		for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
			const heading = page.content.find(({ kind }) => kind === 'text')?.text.match(/^# (.+)$/m)?.[1];
			if (heading !== undefined) page.name = heading.replaceAll('`', '');
		}
	});
}
