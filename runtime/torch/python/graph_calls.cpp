// Compiled graphs as callables of Python: a list of inputs, which is emptied, and a list of results. Through the
// dispatcher a call of two microseconds takes twice as long.
#include <Python.h>
#include <diopigen_torch/saved_graph.h>
#include <diopigen_torch/tape.h>
#include <structmember.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace diopigen::backend {

namespace {

using Tensors = std::vector<at::Tensor>;

using Run = std::function<Tensors(Tensors)>;

struct Runner {
    PyObject ob_base;
    vectorcallfunc call;
    Run* run;  // its own; by pointer, since Python asks for the offset of a member
};

// Other threads of Python go on while a graph runs.
class WithoutLock {
  public:
    WithoutLock() : state_(PyEval_SaveThread()) {}
    ~WithoutLock() { PyEval_RestoreThread(state_); }
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;

  private:
    PyThreadState* state_;
};

// Takes the tensors out of the list, so that a run can free each after its last use.
Tensors emptied(PyObject* list) {
    TORCH_CHECK_TYPE(PyList_Check(list), "a graph is called with a list of tensors");
    const Py_ssize_t count = PyList_GET_SIZE(list);
    Tensors taken;
    taken.reserve(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const item = PyList_GET_ITEM(list, i);
        if (item == Py_None) {  // the gradient of a result that nothing was computed from: the graph does not read it
            taken.emplace_back();
            continue;
        }
        TORCH_CHECK_TYPE(THPVariable_Check(item), "input ", i, " of a graph is a ", Py_TYPE(item)->tp_name,
                         ", not a tensor");
        taken.push_back(THPVariable_Unpack(item));
    }
    if (PyList_SetSlice(list, 0, count, nullptr) != 0) {
        throw python_error();
    }
    return taken;
}

PyObject* list_of(Tensors tensors) {
    THPObjectPtr list(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
    if (!list) {
        throw python_error();
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        PyObject* const wrapped = THPVariable_Wrap(std::move(tensors[i]));
        if (wrapped == nullptr) {
            throw python_error();
        }
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrapped);
    }
    return list.release();
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
    HANDLE_TH_ERRORS
    TORCH_CHECK_TYPE(PyVectorcall_NARGS(count) == 1 && names == nullptr, "a graph is called with one list");
    Tensors tensors = emptied(arguments[0]);
    {
        const WithoutLock others;
        tensors = (*reinterpret_cast<Runner*>(self)->run)(std::move(tensors));
    }
    return list_of(std::move(tensors));
    END_HANDLE_TH_ERRORS
}

void destroy(PyObject* self) {
    delete reinterpret_cast<Runner*>(self)->run;
    PyTypeObject* const type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, static_cast<Py_ssize_t>(offsetof(Runner, call)), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {0, nullptr},
};
PyType_Spec specification = {"diopi_graphs.Runner", sizeof(Runner), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
PyTypeObject* runner_type = nullptr;

PyObject* runner(Run run) {
    auto owned = std::make_unique<Run>(std::move(run));
    auto* const created = reinterpret_cast<Runner*>(runner_type->tp_alloc(runner_type, 0));
    if (created == nullptr) {
        throw python_error();
    }
    created->call = call;
    created->run = owned.release();
    return reinterpret_cast<PyObject*>(created);
}

int64_t number_of(PyObject* number) {
    const int64_t value = PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred() != nullptr) {
        throw python_error();
    }
    return value;
}

// The program of a number, for sizes that do not change.
PyObject* program_runner(PyObject*, PyObject* number) {
    HANDLE_TH_ERRORS
    return runner(
        [program = program_of(number_of(number))](Tensors inputs) { return program->run(std::move(inputs)); });
    END_HANDLE_TH_ERRORS
}

PyObject* saved_runner(PyObject*, PyObject* number) {
    HANDLE_TH_ERRORS
    return runner([graph = saved_graph(number_of(number))](Tensors inputs) { return graph->run(std::move(inputs)); });
    END_HANDLE_TH_ERRORS
}

// diopi_torch reads it in the file before it loads the module (releases.py).
[[gnu::used]] const char kBuiltFor[] = "diopigen: built for Python " PY_VERSION;

PyMethodDef functions[] = {
    {"program", program_runner, METH_O, "program(number) -> Runner\n\nA program of torch.ops.diopi.make_program."},
    {"saved", saved_runner, METH_O, "saved(number) -> Runner\n\nA graph of torch.ops.diopi.load_graph."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "diopi_graphs",
    "Compiled graphs as callables.",
    -1,
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

}  // namespace diopigen::backend

PyMODINIT_FUNC PyInit_diopi_graphs() {
    namespace backend = diopigen::backend;
    backend::runner_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&backend::specification));
    return backend::runner_type == nullptr ? nullptr : PyModule_Create(&backend::definition);
}
