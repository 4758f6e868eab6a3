// Applies a MutatingAdmissionPolicy to pods as an API server does, with the API server's own code and no cluster.
// Usage: injector POLICY.yaml OPENAPI_DIRECTORY < PODS.json; pods as a JSON array, and the answer too: {"matches", "pod"} or
// {"error"} for each. The directory has the description of the API, in version 3.
// What selects by labels and namespaces is not looked at.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/api/admissionregistration/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/yaml"
)

var (
	kind     = corev1.SchemeGroupVersion.WithKind("Pod")
	resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

type answer struct {
	Matches bool        `json:"matches"`
	Pod     *corev1.Pod `json:"pod,omitempty"`
	Error   string      `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	policy := &v1beta1.MutatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict(text, policy); err != nil {
		return err
	}
	var pods []*corev1.Pod
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	converter, err := podConverter(ctx, os.Args[2])
	if err != nil {
		return err
	}
	answers := []answer{}
	for _, pod := range pods {
		one := answer{}
		one.Matches, one.Pod, err = apply(ctx, policy, pod, converter)
		if err != nil {
			one.Error = err.Error()
		}
		answers = append(answers, one)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// podConverter knows the types of a pod's fields.
func podConverter(ctx context.Context, directory string) (managedfields.TypeConverter, error) {
	manager := patch.NewTypeConverterManager(nil, openapitest.NewFileClient(directory))
	go manager.Run(ctx)
	var converter managedfields.TypeConverter
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		converter = manager.GetTypeConverter(kind)
		return converter != nil, nil
	})
	return converter, err
}

// apply does what the API server's dispatcher does with one policy and one request.
func apply(ctx context.Context, policy *v1beta1.MutatingAdmissionPolicy, pod *corev1.Pod, converter managedfields.TypeConverter) (bool, *corev1.Pod, error) {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	if err != nil {
		return false, nil, err
	}
	options := plugincel.OptionalVariableDeclarations{StrictCost: true, HasAuthorizer: true}
	variables := []plugincel.NamedExpressionAccessor{}
	for i := range policy.Spec.Variables {
		variables = append(variables, (*mutating.Variable)(&policy.Spec.Variables[i]))
	}
	compiler.CompileAndStoreVariables(variables, options, environment.StoredExpressions)
	ctx = compiler.CompositionEnv.CreateContext(ctx)

	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return false, nil, err
	}
	pod.SetGroupVersionKind(kind)
	attributes := admission.NewAttributesRecord(pod, nil, kind, "default", pod.Name, resource, "", admission.Create, &metav1.CreateOptions{}, false, nil)
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: kind, VersionedObject: pod}

	conditions := []plugincel.ExpressionAccessor{}
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	evaluator := compiler.CompileCondition(conditions, options, environment.StoredExpressions)
	matcher := matchconditions.NewMatcher(evaluator, nil, "policy", "validate", policy.Name)
	result := matcher.Match(ctx, versioned, nil, nil)
	if result.Error != nil || !result.Matches {
		return false, nil, result.Error
	}

	options.HasPatchTypes = true
	var object runtime.Object = pod
	for i, mutation := range policy.Spec.Mutations {
		var patcher patch.Patcher
		switch mutation.PatchType {
		case v1beta1.PatchTypeJSONPatch:
			condition := &patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}
			patcher = patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
		case v1beta1.PatchTypeApplyConfiguration:
			condition := &patch.ApplyConfigurationCondition{Expression: mutation.ApplyConfiguration.Expression}
			patcher = patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
		}
		versioned.VersionedObject = object
		object, err = patcher.Patch(ctx, patch.Request{
			MatchedResource:     resource,
			VersionedAttributes: versioned,
			ObjectInterfaces:    admission.NewObjectInterfacesFromScheme(scheme),
			Namespace:           &corev1.Namespace{},
			TypeConverter:       converter,
		}, cel.RuntimeCELCostBudget)
		if err != nil {
			return true, nil, fmt.Errorf("mutation %d: %w", i, err)
		}
		// An applied configuration comes back untyped.
		if object, err = scheme.ConvertToVersion(object, kind.GroupVersion()); err != nil {
			return true, nil, err
		}
	}
	return true, object.(*corev1.Pod), nil
}
