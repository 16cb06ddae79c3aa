"""Names the packages: setuptools cannot find them from pyproject.toml, which lies inside the package itself."""

from setuptools import find_packages, setup

setup(
    script_name="setup.py",  # Else it is taken for a module of the package.
    package_dir={"services": "."},
    packages=["services", *(f"services.{name}" for name in find_packages())],
    package_data={"services": ["py.typed", "openapi.yaml", "domain/stores/migrations/*.sql"]},
)
